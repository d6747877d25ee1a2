// Our reader of platform files against SimGrid's own loader: the same hosts, and for every pair of hosts the same links
// in the same order, with the same bandwidths and latencies.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "sim/cluster/platform.hpp"
#include "support/sanitized.hpp"
#include "support/temp_file.hpp"

namespace stepsim::platform_simgrid_test {
namespace s4u = simgrid::s4u;

bool close(double a, double b) {
  return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b));
}

// Compares pairs of hosts one by one. SimGrid names links in its own way, so that the comparison also checks that its
// names and our links stand for each other one to one.
class Comparison {
 public:
  explicit Comparison(const std::string& path) : ours_(read_platform(path)), engine_("test") {
    s4u::Engine::set_config("network/model:CM02");
    s4u::Engine::set_config("network/crosstraffic:0");
    engine_.load_platform(path);
    engine_.seal_platform();
    expect(engine_.get_host_count() == ours_->hosts().size(), "number of hosts");
    for (const s4u::Link* link : engine_.get_all_links())
      hidden_ += link->get_name().find("loopback") != std::string::npos ? 1 : 0;
    expect(engine_.get_link_count() == ours_->links().size() + hidden_, "number of links");
  }

  void pair(HostId from, HostId to) {
    const std::string& name_from = ours_->hosts()[static_cast<std::size_t>(from)];
    const std::string& name_to = ours_->hosts()[static_cast<std::size_t>(to)];
    std::vector<LinkId> route = ours_->route(from, to);
    std::vector<s4u::Link*> theirs;
    double latency = 0;
    engine_.host_by_name(name_from)->route_to(engine_.host_by_name(name_to), theirs, &latency);
    const std::string where = name_from + " > " + name_to;
    expect(theirs.size() == route.size(), where + ": length");
    if (theirs.size() != route.size()) return;
    if (!ordered_) sort_by_name(route, theirs);
    double our_latency = 0;
    for (std::size_t i = 0; i < route.size(); ++i) {
      const PlatformLink& link = ours_->links()[static_cast<std::size_t>(route[i])];
      our_latency += link.latency.value;
      expect(close(link.bandwidth.value, theirs[i]->get_bandwidth()), where + ": bandwidth of " + link.name);
      expect(close(link.latency.value, theirs[i]->get_latency()), where + ": latency of " + link.name);
      const bool fatpipe = theirs[i]->get_sharing_policy() == s4u::Link::SharingPolicy::FATPIPE;
      expect(link.shared == !fatpipe, where + ": sharing of " + link.name);
      const std::string& their_name = theirs[i]->get_name();
      expect(link_of_.emplace(their_name, route[i]).first->second == route[i], where + ": " + their_name);
      expect(name_of_.emplace(route[i], their_name).first->second == their_name, where + ": " + link.name);
    }
    expect(close(latency, our_latency), where + ": latency");
    ++pairs_;
  }

  // SimGrid 3.32's Dijkstra zones answer with the links of each written route in reverse; which links, and how often,
  // is still compared.
  void ignore_order() { ordered_ = false; }

  void all_pairs() {
    const auto n = static_cast<HostId>(ours_->hosts().size());
    for (HostId from = 0; from < n; ++from) {
      for (HostId to = 0; to < n; ++to) {
        if (from != to) pair(from, to);
      }
    }
  }

  // Ends this (child) process: 0 when all was equal.
  [[noreturn]] void finish() const {
    std::fprintf(stderr, "%d pairs, %d differences\n", pairs_, differences_);
    std::fflush(stderr);
    ::_exit(differences_ == 0 && pairs_ > 0 ? 0 : 1);
  }

  const Platform& ours() const { return *ours_; }

 private:
  // Written links have the same names here and there, but for the case of a direction.
  void sort_by_name(std::vector<LinkId>& route, std::vector<s4u::Link*>& theirs) const {
    const auto lower = [](std::string name) {
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
      return name;
    };
    const auto name = [&](LinkId link) { return lower(ours_->links()[static_cast<std::size_t>(link)].name); };
    std::sort(route.begin(), route.end(), [&](LinkId a, LinkId b) { return name(a) < name(b); });
    std::sort(theirs.begin(), theirs.end(),
              [&](const s4u::Link* a, const s4u::Link* b) { return lower(a->get_name()) < lower(b->get_name()); });
  }

  void expect(bool holds, const std::string& what) {
    if (!holds && differences_++ < 10) std::fprintf(stderr, "differs: %s\n", what.c_str());
  }

  std::shared_ptr<const Platform> ours_;
  s4u::Engine engine_;
  std::size_t hidden_ = 0;
  std::map<std::string, LinkId> link_of_;
  std::map<LinkId, std::string> name_of_;
  bool ordered_ = true;
  int pairs_ = 0;
  int differences_ = 0;
};

// SimGrid can live once in a process, so that each comparison has a process of its own.
#define EXPECT_SAME(statement) EXPECT_EXIT({ statement; }, ::testing::ExitedWithCode(0), "")

[[noreturn]] void compare_all(const std::string& path, bool ordered = true) {
  Comparison comparison(path);
  if (!ordered) comparison.ignore_order();
  comparison.all_pairs();
  comparison.finish();
}

// Random pairs of hosts that have a route, and the way back.
[[noreturn]] void compare_sample(const std::string& path, int pairs) {
  Comparison comparison(path);
  std::mt19937 random(1);
  const auto hosts = static_cast<unsigned>(comparison.ours().hosts().size());
  const auto pick = [&] { return static_cast<HostId>(random() % hosts); };
  for (int i = 0; i < pairs; ++i) {
    const HostId from = pick(), to = pick();
    if (comparison.ours().route(from, to).empty()) continue;
    comparison.pair(from, to);
    comparison.pair(to, from);
  }
  comparison.finish();
}

[[noreturn]] void route_in_simgrid(const std::string& path, const std::string& from, const std::string& to) {
  s4u::Engine engine("test");
  engine.load_platform(path);
  engine.seal_platform();
  std::vector<s4u::Link*> links;
  double latency = 0;
  engine.host_by_name(from)->route_to(engine.host_by_name(to), links, &latency);
  ::_exit(0);
}

std::string shipped(const std::string& name) {
  return std::string(STEPSIM_SOURCE_DIR) + "/platforms/" + name;
}

std::vector<std::string> all_shipped() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(shipped(""))) {
    if (entry.path().extension() == ".xml") names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class ShippedPlatform : public ::testing::TestWithParam<std::string> {};

// SimGrid takes seconds to load the largest ones: sealing costs zones x hosts.
TEST_P(ShippedPlatform, HasSimgridsRoutes) {
  const std::string path = shipped(GetParam());
  const bool large = std::filesystem::file_size(path) > 200'000;
  if (large && testing::kSanitized) GTEST_SKIP() << "optimised only";
  EXPECT_SAME(compare_sample(path, large ? 2000 : testing::kSanitized ? 1000 : 10000));
}

INSTANTIATE_TEST_SUITE_P(PlatformSimgrid, ShippedPlatform, ::testing::ValuesIn(all_shipped()), [](const auto& file) {
  std::string name = file.param;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
});

TEST(PlatformSimgrid, PlanesHaveNoRouteBetweenThem) {
  const auto ours = read_platform(shipped("h800-256x8.xml"));
  for (const int to : {1, 7, 9, 2047}) {
    EXPECT_TRUE(ours->route(ours->host("nic0"), ours->host("nic" + std::to_string(to))).empty()) << to;
    EXPECT_TRUE(ours->route(ours->host("nic" + std::to_string(to)), ours->host("nic0")).empty()) << to;
  }
  EXPECT_TRUE(ours->route(ours->host("nv0"), ours->host("nic0")).empty());
  EXPECT_DEATH(route_in_simgrid(shipped("h800-256x8.xml"), "nic0", "nic1"), "");
  EXPECT_DEATH(route_in_simgrid(shipped("h800-256x8.xml"), "nv0", "nic0"), "");
  EXPECT_EXIT(route_in_simgrid(shipped("h800-256x8.xml"), "nic0", "nic8"), ::testing::ExitedWithCode(0), "");
}

TEST(PlatformSimgrid, GeneratedWithOtherOptions) {
  for (const char* options : {
           "--nodes 1 --gpus-per-node 2 --planes 1",
           "--nodes 5 --gpus-per-node 4 --leaf-size 2 --planes 2 --oversubscription 3 --nic-bandwidth 400Gbps",
           "--nodes 6 --gpus-per-node 8 --leaf-size 3 --planes 1 --nvlink-bandwidth 1.8TBps --spine-latency 9.1us",
           "--nodes 320 --gpus-per-node 1 --leaf-size 5",
           "--nodes 7 --gpus-per-node 8 --leaf-size 1 --planes 8 --leaf-latency 0s --nvlink-latency 700ns",
           "--nodes 9 --gpus-per-node 8 --nics-per-node 2 --leaf-size 4 --planes 2",
           "--topology rail --nodes 9 --gpus-per-node 8 --nics-per-node 4 --leaf-size 4 --rails 2",
           "--topology fat-tree-3 --nodes 23 --gpus-per-node 4 --leaf-size 3 --pod-size 2 --planes 2 --core-latency "
           "7us",
           "--topology fat-tree-3 --nodes 3 --leaf-size 8",
           "--topology pcie --nodes 5 --gpus-per-node 6 --nics-per-node 3 --leaf-size 2",
           "--topology pcie --nodes 3 --gpus-per-node 4 --nics-per-node 1 --leaf-size 2",
           "--topology two-sites --nodes 10 --leaf-size 2 --site-bandwidth 10GBps --site-latency 1ms",
           "--topology dragonfly --nodes 15 --groups 5 --routers 3 --leaf-size 1",
           "--topology dragonfly --nodes 8 --groups 1 --routers 2 --leaf-size 4",
       }) {
    const test::TempFile file("");
    const std::string command =
        std::string(STEPSIM_SOURCE_DIR) + "/tools/make_platform --name made " + options + " -o " + file.path();
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    EXPECT_SAME(compare_sample(file.path(), 3000)) << options;
  }
}

std::string platform(const std::string& inside) {
  return "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
         "<platform version=\"4.1\">\n" +
         inside + "\n</platform>\n";
}

TEST(PlatformSimgrid, ClustersOfEveryKind) {
  for (const char* more :
       {"", R"( sharing_policy="SHARED")", R"( limiter_link="3GBps")", R"( bb_bw="2GBps" bb_lat="1us")",
        R"( limiter_link="3GBps" bb_bw="2GBps" bb_sharing_policy="FATPIPE" sharing_policy="SHARED")"}) {
    const test::TempFile file(
        platform(R"(<cluster id="c" prefix="h" suffix=".x" radical="0-3,9,5-6" speed="1Gf" bw="1GBps" lat="1us")" +
                 std::string(more) + "/>"));
    EXPECT_SAME(compare_all(file.path())) << more;
  }
}

TEST(PlatformSimgrid, RegularClusters) {
  const auto cluster = [](const std::string& topology, const std::string& parameters, int hosts,
                          const char* more = "") {
    return platform("<cluster id=\"c\" prefix=\"h\" suffix=\"\" radical=\"0-" + std::to_string(hosts - 1) +
                    "\" speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\" topology=\"" + topology + "\" topo_parameters=\"" +
                    parameters + "\"" + more + "/>");
  };
  const struct {
    const char *topology, *parameters;
    int hosts;
  } cases[] = {
      {"TORUS", "8", 8},
      {"TORUS", "5,4", 20},
      {"TORUS", "3,2,2", 12},
      {"TORUS", "2,2,2,3", 24},
      {"TORUS", "1,7", 7},
      {"FAT_TREE", "1;6;1;1", 6},
      {"FAT_TREE", "1;4;3;1", 4},
      {"FAT_TREE", "2;4,4;1,2;1,2", 16},
      {"FAT_TREE", "2;4,3;1,4;1,1", 12},
      {"FAT_TREE", "2;3,3;2,2;2,3", 9},
      {"FAT_TREE", "3;2,3,2;1,2,2;1,2,1", 12},
      {"FAT_TREE", "3;2,2,3;2,1,3;3,2,2", 12},
  };
  for (const auto& each : cases) {
    for (const char* more : {"", R"( sharing_policy="SHARED")"}) {
      const test::TempFile file(cluster(each.topology, each.parameters, each.hosts, more));
      EXPECT_SAME(compare_all(file.path())) << each.topology << " " << each.parameters << more;
    }
  }
}

// Loopbacks and routes from a host to itself change nothing between hosts.
TEST(PlatformSimgrid, WhatAHostSendsToItself) {
  const test::TempFile cluster(platform(
      R"(<cluster id="c" prefix="n" suffix=".org" radical="0-5" speed="1Gf" bw="125MBps" lat="50us" loopback_bw="100MBps"
         loopback_lat="0" topology="TORUS" topo_parameters="3,2"/>)"));
  EXPECT_SAME(compare_all(cluster.path()));
  const test::TempFile file(platform(R"(<zone id="z" routing="Full">
    <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/>
    <link id="self" bandwidth="9GBps" latency="1us"/> <link id="l" bandwidth="1GBps" latency="1us"/>
    <route src="a" dst="a"><link_ctn id="self"/></route>
    <route src="a" dst="b"><link_ctn id="l"/></route>
  </zone>)"));
  EXPECT_SAME(compare_all(file.path()));
}

// A torus beside a switch, joined at one of its hosts: it has no router.
TEST(PlatformSimgrid, RegularClusterInsideAZone) {
  const test::TempFile file(platform(R"(<zone id="z" routing="Full">
    <cluster id="t" prefix="t" suffix="" radical="0-5" speed="1Gf" bw="1GBps" lat="1us" topology="TORUS"
             topo_parameters="3,2"/>
    <cluster id="s" prefix="s" suffix="" radical="0-3" speed="1Gf" bw="2GBps" lat="2us" router_id="rs"/>
    <link id="l" bandwidth="3GBps" latency="3us" sharing_policy="SPLITDUPLEX"/>
    <zoneRoute src="t" dst="s" gw_src="t0" gw_dst="rs"><link_ctn id="l" direction="UP"/></zoneRoute>
  </zone>)"));
  EXPECT_SAME(compare_all(file.path()));
}

TEST(PlatformSimgrid, NestedZonesWithGatewaysThatDiffer) {
  for (const char* routing : {"Full", "Floyd"}) {
    // The way from c1 to c4 enters c2 at one gateway and leaves it at another.
    std::string zones;
    for (int i = 1; i <= 4; ++i) {
      const std::string n = std::to_string(i);
      zones += "<cluster id=\"c" + n + "\" prefix=\"h" + n + "_\" suffix=\"\" radical=\"0-2\" speed=\"1Gf\" bw=\"" + n +
               "GBps\" lat=\"1us\" router_id=\"r" + n + "\"/>\n<link id=\"l" + n + "\" bandwidth=\"" + n +
               "00MBps\" latency=\"7us\" sharing_policy=\"SPLITDUPLEX\"/>\n";
    }
    const auto zone_route = [](const char* a, const char* b, const char* gw_a, const char* gw_b, const char* link) {
      return std::string("<zoneRoute src=\"c") + a + "\" dst=\"c" + b + "\" gw_src=\"" + gw_a + "\" gw_dst=\"" + gw_b +
             "\"><link_ctn id=\"" + link + "\" direction=\"UP\"/></zoneRoute>\n";
    };
    std::string routes = zone_route("1", "2", "r1", "r2", "l1") + zone_route("2", "3", "h2_0", "r3", "l2") +
                         zone_route("3", "4", "r3", "h4_1", "l3");
    if (std::string(routing) == "Full") {
      routes += zone_route("1", "3", "h1_2", "r3", "l2") + zone_route("1", "4", "r1", "r4", "l3") +
                zone_route("2", "4", "r2", "r4", "l4");
    }
    const test::TempFile file(
        platform("<zone id=\"z\" routing=\"" + std::string(routing) + "\">" + zones + routes + "</zone>"));
    EXPECT_SAME(compare_all(file.path())) << routing;
  }
}

TEST(PlatformSimgrid, HostLinksAndBackbone) {
  const test::TempFile file(platform(R"(<zone id="z" routing="Cluster">
    <host id="a" speed="1Gf"/> <host id="b" speed="2Gf" core="4"/> <router id="r"/>
    <link id="a1" bandwidth="1GBps" latency="1us"/> <link id="a2" bandwidth="2GBps" latency="2us"/>
    <link id="b" bandwidth="3GBps" latency="3us" sharing_policy="SPLITDUPLEX"/>
    <host_link id="a" up="a1" down="a2"/> <host_link id="b" up="b_UP" down="b_DOWN"/>
    <backbone id="bb" bandwidth="9GBps" latency="1us"/>
  </zone>)"));
  EXPECT_SAME(compare_all(file.path()));
}

// A connected zone of hosts with written routes of one to three links, some for one direction only.
std::string random_zone(const std::string& routing, unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const int hosts = 3 + pick(10);
  const int links = 2 + pick(12);
  std::string text = "<zone id=\"z\" routing=\"" + routing + "\">\n";
  for (int i = 0; i < hosts; ++i) text += "<host id=\"h" + std::to_string(i) + "\" speed=\"1Gf\"/>\n";
  for (int i = 0; i < links; ++i) {
    text += "<link id=\"l" + std::to_string(i) + "\" bandwidth=\"" + std::to_string(i + 1) + "GBps\" latency=\"" +
            std::to_string(i) + "us\"" + (i % 2 ? " sharing_policy=\"SPLITDUPLEX\"" : "") + "/>\n";
  }
  std::map<std::pair<int, int>, bool> written;
  const auto route = [&](int from, int to, bool both) {
    if (from == to || written[{from, to}] || (both && written[{to, from}])) return;
    written[{from, to}] = true;
    if (both) written[{to, from}] = true;
    text += "<route src=\"h" + std::to_string(from) + "\" dst=\"h" + std::to_string(to) + "\" symmetrical=\"" +
            (both ? "YES" : "NO") + "\">";
    for (int i = 1 + pick(3); i > 0; --i) {
      const int link = pick(links);
      const char* way = link % 2 == 0 ? "" : pick(2) ? " direction=\"UP\"" : " direction=\"DOWN\"";
      text += "<link_ctn id=\"l" + std::to_string(link) + "\"" + way + "/>";
    }
    text += "</route>\n";
  };
  for (int i = 1; i < hosts; ++i) route(pick(i), i, true);
  for (int i = pick(3 * hosts); i > 0; --i) route(pick(hosts), pick(hosts), pick(2) == 1);
  return text + "</zone>";
}

TEST(PlatformSimgrid, RandomZonesTiesIncluded) {
  for (const char* routing : {"Full", "Floyd", "Dijkstra"}) {
    for (unsigned seed = 0; seed < 40; ++seed) {
      const test::TempFile file(platform(random_zone(routing, seed)));
      EXPECT_SAME(compare_all(file.path(), std::string(routing) != "Dijkstra")) << routing << " seed " << seed;
    }
  }
}

}  // namespace stepsim::platform_simgrid_test
