"""Topologies that make_platform writes, one a file. Each has OPTIONS (the network options it takes beside those that
all take), defaults(o) (of options that depend on others), problems(o) (what is impossible about them), build(o) (the
lines of the root zone), about(o) (lines that describe it), tiers(o) (the links of each wire, the wire inside a node
first), cables(o) (links that stand for several cables) and hosts(o) (the hosts of a GPU)."""

from . import dragonfly, fat_tree_2, fat_tree_3, pcie, rail, two_sites

TOPOLOGIES = {
    "fat-tree-2": fat_tree_2,
    "fat-tree-3": fat_tree_3,
    "rail": rail,
    "pcie": pcie,
    "two-sites": two_sites,
    "dragonfly": dragonfly,
}
