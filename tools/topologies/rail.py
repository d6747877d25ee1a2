"""Rail-optimised: a group of nodes has one leaf switch a rail, with card i of each of its nodes on rail i mod RAILS;
one spine joins all leaf switches, so that rails reach each other."""

from . import elements, parts

OPTIONS = ("nvlink_bandwidth", "nvlink_latency", "leaf_size", "leaf_latency", "spine_latency", "oversubscription",
           "rails", "leaf_cables")


def build(o):
    leaves = {
        f"leaf_r{rail}_{k}": parts.cards_of(o, nodes, range(rail, o.nics_per_node, o.rails))
        for k, nodes in enumerate(parts.leaf_groups(o.nodes, o.leaf_size))
        for rail in range(o.rails)
    }
    cards = o.leaf_size * (o.nics_per_node // o.rails)
    return [parts.nvswitch(o), *elements.zone("network", "Floyd", parts.two_layers(o, leaves, "spine", cards))]


def about(o):
    rails = "one rail" if o.rails == 1 else f"{o.rails} rails"
    return [
        parts.nvlink_words(o),
        f"{parts.cards_words(o)}, {rails} joined by a spine, {parts.leaf_words(o)}; "
        f"{o.leaf_latency} between two cards of a leaf, {o.spine_latency} across leaves.",
    ]


def problems(o):
    if o.nics_per_node % o.rails:
        yield f"--rails {o.rails} does not divide --nics-per-node {o.nics_per_node}"
    yield from parts.latency_problems(o)
    yield from parts.card_problems(o)


def tiers(o):
    return {"nvlink": "nv*", o.network: "nic*, leaf*"}


def defaults(o):
    return {"leaf_cables": parts.cables(o.leaf_size * o.nics_per_node / o.rails, o.oversubscription)}


def cables(o):
    return {"leaf*": o.leaf_cables}


hosts = parts.nvlink_hosts
