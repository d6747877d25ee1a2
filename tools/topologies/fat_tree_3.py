"""Three-layer fat trees, one a plane (as fat-tree-2): POD-SIZE leaf switches and a spine make a pod; a core joins
the pods. A leaf's way up and a pod's way up can each be oversubscribed."""

from . import elements, parts
from .quantities import format_decimal, number

OPTIONS = ("nvlink_bandwidth", "nvlink_latency", "leaf_size", "leaf_latency", "spine_latency", "core_latency",
           "oversubscription", "spine_oversubscription", "pod_size", "planes", "leaf_cables", "spine_cables")


def pod(o, plane, name, leaves, cards):
    zone = f"pod{name[len('spine'):]}"
    return zone, elements.zone(zone, "Floyd", parts.two_layers(o, leaves, name, cards))


def plane(o, number_of_plane):
    indices = range(number_of_plane, o.nics_per_node, o.planes)
    groups = list(enumerate(parts.leaf_groups(o.nodes, o.leaf_size)))
    cards = o.leaf_size * len(indices)
    core = f"core_p{number_of_plane}"
    inner, links, routes = [], [], []
    for k, first in enumerate(range(0, len(groups), o.pod_size)):
        leaves = {
            f"leaf_p{number_of_plane}_{leaf}": parts.cards_of(o, nodes, indices)
            for leaf, nodes in groups[first:first + o.pod_size]
        }
        spine = f"spine_p{number_of_plane}_{k}"
        zone, lines = pod(o, number_of_plane, spine, leaves, cards)
        inner += lines
        speed = o.nic_bandwidth * cards * o.pod_size / o.oversubscription / o.spine_oversubscription
        links.append(elements.link(spine, speed, (o.core_latency - o.spine_latency) / 2))
        routes.append(elements.zone_route(zone, core, (spine + "_switch", core + "_switch"), spine))
    inner.append(elements.switch(core, core + "_switch"))
    return elements.zone(f"plane{number_of_plane}", "Floyd", inner + links + routes)


def build(o):
    lines = [parts.nvswitch(o)]
    for number_of_plane in range(o.planes):
        lines += plane(o, number_of_plane)
    return lines


def about(o):
    return [
        parts.nvlink_words(o),
        f"{parts.cards_words(o)}, {number(o.planes, 'plane')} of three-layer fat tree, {parts.leaf_words(o)}; "
        f"{number(o.pod_size, 'leaf switch', 'leaf switches')} a pod, oversubscription "
        f"{format_decimal(o.spine_oversubscription)}; {o.leaf_latency} between two cards of a leaf, {o.spine_latency} "
        f"across leaves of a pod, {o.core_latency} across pods.",
    ]


def problems(o):
    if o.nics_per_node % o.planes:
        yield f"--planes {o.planes} does not divide --nics-per-node {o.nics_per_node}"
    if o.core_latency < o.spine_latency:
        yield "--core-latency is below --spine-latency: a route across pods contains one inside a pod"
    yield from parts.latency_problems(o)
    yield from parts.card_problems(o)


def defaults(o):
    up = parts.cables(o.leaf_size * o.nics_per_node / o.planes, o.oversubscription)
    return {"leaf_cables": up, "spine_cables": parts.cables(o.leaf_cables or up, o.spine_oversubscription / o.pod_size)}


def tiers(o):
    return {"nvlink": "nv*", o.network: "nic*, leaf*, spine*"}


def cables(o):
    return {"leaf*": o.leaf_cables, "spine*": o.spine_cables}


hosts = parts.nvlink_hosts
