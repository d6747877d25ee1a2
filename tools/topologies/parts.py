"""Parts that several topologies have in common."""

import math

from . import elements
from .quantities import format_decimal, number


def nvswitch(o):
    """Every GPU's port on its node's NVSwitch. One star stands for all nodes: a port's links are its own, and only GPUs
    of one node are asked for a way through it."""
    gpus = range(o.nodes * o.gpus_per_node)
    return elements.star("nvswitch", "nv", gpus, o.nvlink_bandwidth, o.nvlink_latency / 2, "nvswitch_core")


def leaf_groups(nodes, size):
    return [range(first, min(first + size, nodes)) for first in range(0, nodes, size)]


def cards_of(o, nodes, indices):
    return [node * o.nics_per_node + i for node in nodes for i in indices]


def leaf(o, name, cards):
    return elements.star(name, "nic", cards, o.nic_bandwidth, o.leaf_latency / 2, name + "_switch")


def uplink(o, name, cards):
    """From a leaf to its spine: as fast as the cards of a full leaf together, over the oversubscription."""
    speed = o.nic_bandwidth * cards / o.oversubscription
    return elements.link(name, speed, (o.spine_latency - o.leaf_latency) / 2)


def two_layers(o, leaves, spine, cards):
    """The inside of a zone: leaf switches {name: cards}, a spine, a link from each leaf to the spine. Its routing
    (Floyd) finds the way from leaf to leaf, so that a leaf needs one route and not one to every other leaf."""
    lines = [leaf(o, name, numbers) for name, numbers in leaves.items()]
    lines.append(elements.switch(spine, spine + "_switch"))
    lines += [uplink(o, name, cards) for name in leaves]
    lines += [elements.zone_route(name, spine, (name + "_switch", spine + "_switch"), name) for name in leaves]
    return lines


def nvlink_words(o):
    return f"NVLink {o.nvlink_bandwidth} a GPU and direction, {o.nvlink_latency} between two GPUs of a node."


def cards_words(o):
    shared = o.gpus_per_node // o.nics_per_node
    cards = "one card a GPU" if shared == 1 else f"one card for {shared} GPUs"
    return f"Network {o.nic_bandwidth} a card and direction, {cards}"


def leaf_words(o):
    return f"{number(o.leaf_size, 'node')} a leaf, oversubscription {format_decimal(o.oversubscription)}"


def nvlink_hosts(o):
    """The hosts of a GPU as the cluster YAML names them: right for any part of the nodes and of their GPUs."""
    shared = o.gpus_per_node // o.nics_per_node
    local = "local" if shared == 1 else f"local/{shared}"
    return {"nvlink": f"nv{{node*{o.gpus_per_node}+local}}", "nic": f"nic{{node*{o.nics_per_node}+{local}}}"}


def cables(cards, oversubscription):
    """Of a leaf's way up: each as fast as a card, or a little less where they do not come out even."""
    return max(math.ceil(cards / oversubscription), 1)


def latency_problems(o):
    if o.spine_latency < o.leaf_latency:
        yield "--spine-latency is below --leaf-latency: a route across leaves contains one inside a leaf"


def card_problems(o):
    if o.gpus_per_node % o.nics_per_node:
        yield f"--nics-per-node {o.nics_per_node} does not divide --gpus-per-node {o.gpus_per_node}"
