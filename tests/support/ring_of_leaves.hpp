// A small cluster with ways round: leaves in a ring.
#pragma once

#include <fmt/format.h>

#include <string>

#include "sim/cluster/cluster.hpp"
#include "support/shipped_cluster.hpp"
#include "support/small_clusters.hpp"
#include "support/temp_file.hpp"

namespace stepsim::testing {

// Leaves of two nodes of one GPU in a ring; a message to the leaf next but one passes through the leaf between.
class RingOfLeaves {
 public:
  RingOfLeaves(int leaves, const std::string& routing, const std::string& last_bandwidth = "40GBps")
      : xml_(xml_of(leaves, routing, last_bandwidth), ".xml"),
        yaml_(fmt::format("name: ring\nplatform: {}\ngpu: {}/platforms/gpus/h800-sxm.yaml\nnodes: {}\ngpus_per_node: 1\n"
                          "hosts: {{gpu: \"gpu{{rank}}\"}}\ntiers: {{port: \"gpu*\", cable: \"cable*\"}}\n",
                          xml_.path().substr(xml_.path().rfind('/') + 1), STEPSIM_SOURCE_DIR, 2 * leaves),
              ".yaml") {}
  ClusterSpec cluster() const {
    Reading reading;
    ClusterSpec read = read_cluster(reading, yaml_.path(), {}, Rates::speed_of_light, test::platforms());
    reading.throw_if_any();
    return read;
  }

 private:
  static std::string xml_of(int leaves, const std::string& routing, const std::string& last_bandwidth) {
    std::string text = "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                       "<platform version=\"4.1\"><zone id=\"all\" routing=\"" + routing + "\">\n";
    for (int l = 0; l < leaves; ++l) text += star(fmt::format("leaf{}", l), "gpu", radical(2 * l, 2, 1), "50GBps", "1us");
    for (int l = 0; l < leaves; ++l) {
      text += fmt::format("<link id=\"cable{}\" bandwidth=\"{}\" latency=\"2us\" sharing_policy=\"SPLITDUPLEX\"/>\n", l,
                          l + 1 < leaves ? "40GBps" : last_bandwidth);
    }
    for (int l = 0; l < leaves; ++l) {
      text += fmt::format("<zoneRoute src=\"leaf{0}\" dst=\"leaf{1}\" gw_src=\"leaf{0}_switch\" gw_dst=\"leaf{1}_switch\">"
                          "<link_ctn id=\"cable{0}\" direction=\"UP\"/></zoneRoute>\n", l, (l + 1) % leaves);
    }
    return text + "</zone></platform>\n";
  }

  test::TempFile xml_, yaml_;
};

}  // namespace stepsim::testing
