"""Dragonfly (Kim, Dally, Scott, Abts, ISCA 2008): GROUPS groups of ROUTERS routers with LEAF-SIZE nodes each. Every
two routers of a group are joined by a local link, every two groups by a global link between one router of each.
Routes are minimal: local, global, local."""

from . import elements, parts

OPTIONS = ("nvlink_bandwidth", "nvlink_latency", "leaf_size", "leaf_latency", "groups", "routers", "local_bandwidth",
           "local_latency", "global_bandwidth", "global_latency")


def port_of(o, group, other):
    """The router of `group` with the link to `other`: links are dealt out to routers in turn."""
    return (other if other < group else other - 1) % o.routers


def group_lines(o, group):
    lines, routes = [], []
    for router in range(o.routers):
        first = (group * o.routers + router) * o.leaf_size
        cards = parts.cards_of(o, range(first, first + o.leaf_size), range(o.nics_per_node))
        lines.append(parts.leaf(o, f"router_{group}_{router}", cards))
    for a in range(o.routers):
        for b in range(a + 1, o.routers):
            name = f"local_{group}_{a}_{b}"
            ends = (f"router_{group}_{a}", f"router_{group}_{b}")
            lines.append(elements.link(name, o.local_bandwidth, o.local_latency))
            routes.append(elements.zone_route(*ends, tuple(e + "_switch" for e in ends), name))
    return elements.zone(f"group{group}", "Full", lines + routes)


def build(o):
    lines, routes = [], []
    for group in range(o.groups):
        lines += group_lines(o, group)
    for a in range(o.groups):
        for b in range(a + 1, o.groups):
            name = f"global_{a}_{b}"
            gateways = (f"router_{a}_{port_of(o, a, b)}_switch", f"router_{b}_{port_of(o, b, a)}_switch")
            lines.append(elements.link(name, o.global_bandwidth, o.global_latency))
            routes.append(elements.zone_route(f"group{a}", f"group{b}", gateways, name))
    return [parts.nvswitch(o), *elements.zone("network", "Full", lines + routes)]


def about(o):
    return [
        parts.nvlink_words(o),
        f"{parts.cards_words(o)}; dragonfly of {o.groups} groups of {o.routers} routers with {o.leaf_size} nodes each. "
        f"{o.leaf_latency} between two cards of a router; local links {o.local_bandwidth} and {o.local_latency}, "
        f"global links {o.global_bandwidth} and {o.global_latency}.",
    ]


def problems(o):
    due = o.groups * o.routers * o.leaf_size
    if o.nodes != due:
        yield f"--nodes {o.nodes} is not {due}: --groups {o.groups} x --routers {o.routers} x --leaf-size {o.leaf_size}"
    links = o.groups * o.routers * (o.routers - 1) // 2 + o.groups * (o.groups - 1) // 2
    if links > 10**6:
        yield f"--groups {o.groups} of --routers {o.routers} are more than 1000000 links"
    yield from parts.card_problems(o)


def defaults(o):
    """Balanced as in the paper (a = 2p = 2h): a router has twice as much local bandwidth as cards, as much global."""
    cards = o.nic_bandwidth * (o.leaf_size * o.nics_per_node)
    return {
        "local_bandwidth": cards * 2 / max(o.routers - 1, 1),
        "global_bandwidth": cards * o.routers / max(o.groups - 1, 1),
    }


def tiers(o):
    return {"nvlink": "nv*", o.network: "nic*, local*, global*"}


def cables(o):
    return {}


hosts = parts.nvlink_hosts
