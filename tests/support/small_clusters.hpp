// Small clusters as files: one star of NVLink ports for all, network cards in planes (one for each GPU index) or in one
// network, behind one leaf switch or two with thin uplinks.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "support/temp_file.hpp"

namespace stepsim::testing {

struct SmallCluster {
  int nodes = 2, gpus_per_node = 2;
  bool planes = true;
  bool two_leaves = false;  // needs an even number of nodes
};

// "0,2,4"
inline std::string radical(int first, int count, int stride) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}{}", i > 0 ? "," : "", first + i * stride);
  return text;
}

inline std::string star(const std::string& id, const std::string& prefix, const std::string& members, const char* bw, const char* lat) {
  return fmt::format("<cluster id=\"{0}\" prefix=\"{1}\" suffix=\"\" radical=\"{2}\" speed=\"1Gf\" bw=\"{3}\" lat=\"{4}\" "
                     "sharing_policy=\"SPLITDUPLEX\" router_id=\"{0}_switch\"/>\n",
                     id, prefix, members, bw, lat);
}

inline std::string xml_of(const SmallCluster& c) {
  const int ranks = c.nodes * c.gpus_per_node;
  std::string text = "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                     "<platform version=\"4.1\"><zone id=\"all\" routing=\"None\">\n";
  text += star("nvswitch", "nv", radical(0, ranks, 1), "160GBps", "1us");
  for (int p = 0; p < (c.planes ? c.gpus_per_node : 1); ++p) {
    const int stride = c.planes ? c.gpus_per_node : 1, members = c.planes ? c.nodes : ranks;
    if (!c.two_leaves) {
      text += star(fmt::format("leaf_p{}_0", p), "nic", radical(p, members, stride), "50GBps", "2us");
      continue;
    }
    text += fmt::format("<zone id=\"plane{}\" routing=\"Floyd\">\n", p);
    for (int leaf = 0; leaf < 2; ++leaf) {
      text += star(fmt::format("leaf_p{}_{}", p, leaf), "nic", radical(p + leaf * members / 2 * stride, members / 2, stride), "50GBps", "2us");
    }
    text += fmt::format("<zone id=\"spine_p{0}\" routing=\"Full\"><router id=\"spine_p{0}_switch\"/></zone>\n", p);
    for (int leaf = 0; leaf < 2; ++leaf) {
      text += fmt::format("<link id=\"leaf_p{}_{}\" bandwidth=\"60GBps\" latency=\"1us\" sharing_policy=\"SPLITDUPLEX\"/>\n", p, leaf);
    }
    for (int leaf = 0; leaf < 2; ++leaf) {
      text += fmt::format("<zoneRoute src=\"leaf_p{0}_{1}\" dst=\"spine_p{0}\" gw_src=\"leaf_p{0}_{1}_switch\" gw_dst=\"spine_p{0}_switch\">"
                          "<link_ctn id=\"leaf_p{0}_{1}\" direction=\"UP\"/></zoneRoute>\n", p, leaf);
    }
    text += "</zone>\n";
  }
  return text + "</zone></platform>\n";
}

// Its YAML file and what that needs, as long as this lives.
class ClusterFiles {
 public:
  explicit ClusterFiles(const SmallCluster& c)
      : xml_(xml_of(c), ".xml"),
        yaml_(fmt::format("name: small\nplatform: {}\ngpu: {}/platforms/gpus/h800-sxm.yaml\nnodes: {}\ngpus_per_node: {}\n"
                          "hosts: {{nvlink: \"nv{{rank}}\", nic: \"nic{{rank}}\"}}\n"
                          "tiers: {{nvlink: \"nv*\", infiniband: \"nic*, leaf*\"}}\n",
                          xml_.path().substr(xml_.path().rfind('/') + 1), STEPSIM_SOURCE_DIR, c.nodes, c.gpus_per_node),
              ".yaml") {}
  const std::string& path() const { return yaml_.path(); }

 private:
  test::TempFile xml_, yaml_;
};

}  // namespace stepsim::testing
