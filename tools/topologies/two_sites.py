"""Two sites, each a rail-optimised network (as rail) for half of the nodes; a thin link joins their spines. A job
that spans both sites crosses it."""

from . import elements, parts
from .quantities import number

OPTIONS = ("nvlink_bandwidth", "nvlink_latency", "leaf_size", "leaf_latency", "spine_latency", "oversubscription",
           "rails", "leaf_cables", "site_bandwidth", "site_latency", "site_cables")


def build(o):
    lines, half = [], o.nodes // 2
    for site in range(2):
        groups = parts.leaf_groups(half, o.leaf_size)
        leaves = {
            f"leaf_s{site}_r{rail}_{k}": parts.cards_of(
                o, [site * half + n for n in nodes], range(rail, o.nics_per_node, o.rails))
            for k, nodes in enumerate(groups)
            for rail in range(o.rails)
        }
        cards = o.leaf_size * (o.nics_per_node // o.rails)
        lines += elements.zone(f"site{site}", "Floyd", parts.two_layers(o, leaves, f"spine_s{site}", cards))
    lines.append(elements.link("wan", o.site_bandwidth, o.site_latency))
    lines.append(elements.zone_route("site0", "site1", ("spine_s0_switch", "spine_s1_switch"), "wan"))
    return [parts.nvswitch(o), *elements.zone("network", "Full", lines)]


def about(o):
    return [
        parts.nvlink_words(o),
        f"Two sites of {number(o.nodes // 2, 'node')} each. {parts.cards_words(o)}, {number(o.rails, 'rail')} joined "
        f"by a spine, {parts.leaf_words(o)}; {o.leaf_latency} between two cards of a leaf, {o.spine_latency} across "
        "leaves.",
        f"Between the sites {o.site_bandwidth} in each direction, and {o.site_latency} more.",
    ]


def problems(o):
    if o.nodes % 2:
        yield f"--nodes {o.nodes} is odd; each site has half of the nodes"
    if o.nics_per_node % o.rails:
        yield f"--rails {o.rails} does not divide --nics-per-node {o.nics_per_node}"
    yield from parts.latency_problems(o)
    yield from parts.card_problems(o)


def defaults(o):
    return {"leaf_cables": parts.cables(o.leaf_size * o.nics_per_node / o.rails, o.oversubscription)}


def tiers(o):
    return {"nvlink": "nv*", o.network: "nic*, leaf*", "wan": "wan*"}


def cables(o):
    return {"leaf*": o.leaf_cables, "wan*": o.site_cables}


hosts = parts.nvlink_hosts
