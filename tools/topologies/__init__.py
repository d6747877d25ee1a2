"""Topologies that make_platform writes, one a file. Each has OPTIONS (the network options it takes beside those that
all take), problems(o) (what is impossible about them), build(o) (the lines of the root zone), about(o) (lines that
describe it), tiers(o) (the links of each wire, the wire inside a node first) and hosts(o) (the hosts of a GPU)."""

from . import fat_tree_2, rail

TOPOLOGIES = {
    "fat-tree-2": fat_tree_2,
    "rail": rail,
}
