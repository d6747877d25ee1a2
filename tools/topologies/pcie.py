"""Nodes without NVLink: GPUs stand at PCIe switches, one a network card, whose links every message of a GPU crosses,
to its neighbours as to the network. Host bridges join the switches of a node. The network is a two-layer fat tree. A
GPU is the host gpu<rank>; a card is the link nic<c> from its switch to the leaf."""

from . import elements, parts
from .quantities import number

OPTIONS = ("leaf_size", "leaf_latency", "spine_latency", "oversubscription", "leaf_cables", "pcie_bandwidth",
           "pcie_latency", "bridge_bandwidth", "bridge_latency")


def node_lines(o, node):
    """Switches of a node, and the bridge between every two."""
    lines, links, routes = [], [], []
    switches = [f"pcie_{node}_{s}" for s in range(o.nics_per_node)]
    share = o.gpus_per_node // o.nics_per_node
    for s, name in enumerate(switches):
        first = node * o.gpus_per_node + s * share
        gpus = range(first, first + share)
        lines.append(elements.star(name, "gpu", gpus, o.pcie_bandwidth, o.pcie_latency / 2, name + "_switch"))
    for a in range(len(switches)):
        for b in range(a + 1, len(switches)):
            bridge = f"bridge_{node}_{a}_{b}"
            links.append(elements.link(bridge, o.bridge_bandwidth, o.bridge_latency))
            routes.append(elements.zone_route(
                switches[a], switches[b], (switches[a] + "_switch", switches[b] + "_switch"), bridge))
    return lines, links, routes


def build(o):
    zones, links, routes = [], [], []
    for node in range(o.nodes):
        for into, lines in zip((zones, links, routes), node_lines(o, node)):
            into += lines
    for k, nodes in enumerate(parts.leaf_groups(o.nodes, o.leaf_size)):
        leaf = f"leaf_{k}"
        zones.append(elements.switch(leaf, leaf + "_switch"))
        links.append(parts.uplink(o, leaf, o.leaf_size * o.nics_per_node))
        routes.append(elements.zone_route(leaf, "spine", (leaf + "_switch", "spine_switch"), leaf))
        for card in parts.cards_of(o, nodes, range(o.nics_per_node)):
            switch = f"pcie_{card // o.nics_per_node}_{card % o.nics_per_node}"
            # A route from GPU to GPU crosses PCIe once up and once down, and a card at each end.
            links.append(elements.link(f"nic{card}", o.nic_bandwidth, (o.leaf_latency - o.pcie_latency) / 2))
            routes.append(elements.zone_route(switch, leaf, (switch + "_switch", leaf + "_switch"), f"nic{card}"))
    zones.append(elements.switch("spine", "spine_switch"))
    return elements.zone("network", "Floyd", zones + links + routes)


def about(o):
    share = o.gpus_per_node // o.nics_per_node
    return [
        f"No NVLink: {number(o.nics_per_node, 'PCIe switch', 'PCIe switches')} a node of {number(share, 'GPU')} each. "
        f"PCIe {o.pcie_bandwidth} a GPU and direction, {o.pcie_latency} between two GPUs of a switch; bridges between "
        f"switches {o.bridge_bandwidth} a direction and {o.bridge_latency} more.",
        f"Network {o.nic_bandwidth} a card and direction, one card a PCIe switch, two-layer fat tree, "
        f"{parts.leaf_words(o)}; {o.leaf_latency} between two GPUs of different nodes at a leaf, {o.spine_latency} "
        "across leaves.",
    ]


def problems(o):
    if o.leaf_latency < o.pcie_latency:
        yield "--leaf-latency is below --pcie-latency: a route between nodes crosses PCIe at both ends"
    yield from parts.latency_problems(o)
    yield from parts.card_problems(o)


def defaults(o):
    return {"leaf_cables": parts.cables(o.leaf_size * o.nics_per_node, o.oversubscription)}


def tiers(o):
    return {"pcie": "gpu*, bridge*", o.network: "nic*, leaf*"}


def cables(o):
    return {"leaf*": o.leaf_cables}


def hosts(o):
    return {"gpu": f"gpu{{node*{o.gpus_per_node}+local}}"}
