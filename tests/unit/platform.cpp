// Reading a platform file: links and routes against what the file says by hand, and every way in which it can be wrong.
#include "sim/cluster/platform.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/base/errors.hpp"
#include "support/temp_file.hpp"

namespace stepsim::platform_test {
std::shared_ptr<const Platform> read(const std::string& inside) {
  const test::TempFile file(
      "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<platform version=\"4.1\">\n" +
      inside + "\n</platform>\n");
  return read_platform(file.path());
}

// "a_up b_down": the links' names of a route.
std::string route(const Platform& platform, std::string_view from, std::string_view to) {
  std::string names;
  for (const LinkId link : platform.route(platform.host(from), platform.host(to))) {
    names += (names.empty() ? "" : " ") + platform.links()[static_cast<std::size_t>(link)].name;
  }
  return names;
}

std::vector<Problem> problems_of(const std::string& inside) {
  try {
    read(inside);
  } catch (const InputError& error) {
    return error.problems();
  }
  return {};
}

TEST(Platform, ClusterIsAStarOfPrivateLinks) {
  const auto p = read(R"(<cluster id="c" prefix="h" suffix="x" radical="0-2,7" speed="1Gf" bw="400Gbps" lat="2us"/>)");
  EXPECT_EQ(p->hosts(), (std::vector<std::string>{"h0x", "h1x", "h2x", "h7x"}));
  ASSERT_EQ(p->links().size(), 8U);
  EXPECT_EQ(route(*p, "h0x", "h7x"), "h0x_up h7x_down");
  EXPECT_EQ(route(*p, "h7x", "h1x"), "h7x_up h1x_down");
  EXPECT_EQ(route(*p, "h1x", "h1x"), "");
  for (const PlatformLink& link : p->links()) {
    EXPECT_DOUBLE_EQ(link.bandwidth.value, 50e9);
    EXPECT_DOUBLE_EQ(link.latency.value, 2e-6);
    EXPECT_TRUE(link.shared);
    EXPECT_EQ(link.owner, p->host(link.name.substr(0, 3)));
  }
  EXPECT_EQ(p->host("h3x"), -1);
  EXPECT_EQ(p->host("c"), -1);
}

TEST(Platform, LimitersAndBackboneStandOnTheWay) {
  const auto p = read(R"(<cluster id="c" prefix="h" suffix="" radical="0-1" speed="1Gf" bw="1GBps" lat="1us"
      limiter_link="3GBps" bb_bw="2GBps" bb_lat="5us" bb_sharing_policy="FATPIPE"/>)");
  EXPECT_EQ(route(*p, "h0", "h1"), "h0_limiter h0_up c_backbone h1_down h1_limiter");
  for (const PlatformLink& link : p->links()) {
    EXPECT_EQ(link.shared, link.name != "c_backbone");
    EXPECT_EQ(link.owner >= 0, link.name != "c_backbone");
  }
}

TEST(Platform, SharedPrivateLinkServesBothDirections) {
  const auto p = read(
      R"(<cluster id="c" prefix="h" suffix="" radical="0-1" speed="1f" bw="1GBps" lat="0" sharing_policy="SHARED"/>)");
  EXPECT_EQ(route(*p, "h0", "h1"), "h0_link h1_link");
  EXPECT_EQ(route(*p, "h1", "h0"), "h1_link h0_link");
}

TEST(Platform, WrittenRoutesRunBothWaysUnlessTheySayNo) {
  const auto p = read(R"(<zone id="z" routing="Full">
    <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/> <host id="c" speed="1Gf"/>
    <link id="s" bandwidth="1GBps" latency="1us"/> <link id="d" bandwidth="1GBps" sharing_policy="SPLITDUPLEX"/>
    <route src="a" dst="b"> <link_ctn id="s"/> <link_ctn id="d" direction="UP"/> </route>
    <route src="a" dst="c" symmetrical="NO"> <link_ctn id="d_DOWN"/><link_ctn id="s"/><link_ctn id="s"/> </route>
  </zone>)");
  EXPECT_EQ(route(*p, "a", "b"), "s d_up");
  EXPECT_EQ(route(*p, "b", "a"), "d_down s");
  EXPECT_EQ(route(*p, "a", "c"), "d_down s s");
  EXPECT_EQ(route(*p, "c", "a"), "");
  EXPECT_EQ(route(*p, "b", "c"), "");
  for (const PlatformLink& link : p->links()) EXPECT_EQ(link.owner, -1);
}

TEST(Platform, ShortestWaysAreFound) {
  for (const char* routing : {"Floyd", "Dijkstra", "DijkstraCache", "floyd"}) {
    const auto p = read("<zone id=\"z\" routing=\"" + std::string(routing) + R"(">
      <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/> <host id="c" speed="1Gf"/> <router id="r"/>
      <link id="l1" bandwidth="1GBps"/> <link id="l2" bandwidth="1GBps"/> <link id="l3" bandwidth="1GBps"/>
      <route src="a" dst="r"><link_ctn id="l1"/></route>
      <route src="r" dst="b"><link_ctn id="l2"/></route>
      <route src="a" dst="b"><link_ctn id="l3"/><link_ctn id="l3"/><link_ctn id="l3"/></route>
    </zone>)");
    EXPECT_EQ(route(*p, "a", "b"), "l1 l2") << routing;
    EXPECT_EQ(route(*p, "b", "a"), "l2 l1") << routing;
    EXPECT_EQ(route(*p, "a", "c"), "") << routing;
  }
}

TEST(Platform, HostLinksOfAClusterZone) {
  const auto p = read(R"(<zone id="z" routing="Cluster">
    <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/> <router id="r"/>
    <link id="a1" bandwidth="1GBps"/> <link id="a2" bandwidth="2GBps"/>
    <link id="b" bandwidth="3GBps" sharing_policy="SPLITDUPLEX"/>
    <host_link id="a" up="a1" down="a2"/> <host_link id="b" up="b_UP" down="b_DOWN"/>
    <backbone id="bb" bandwidth="9GBps" latency="1us"/>
  </zone>)");
  EXPECT_EQ(route(*p, "a", "b"), "a1 bb b_down");
  EXPECT_EQ(route(*p, "b", "a"), "b_up bb a2");
}

// Two clusters in a zone, a third outside; every route passes the gateways of each zone it leaves or enters.
TEST(Platform, NestedZonesJoinAtGateways) {
  const auto p = read(R"(<zone id="root" routing="Full">
    <zone id="west" routing="Full">
      <cluster id="c1" prefix="a" suffix="" radical="0-1" speed="1Gf" bw="1GBps" lat="1us" router_id="r1"/>
      <cluster id="c2" prefix="b" suffix="" radical="0-1" speed="1Gf" bw="1GBps" lat="1us" router_id="r2"/>
      <link id="in" bandwidth="1GBps" sharing_policy="SPLITDUPLEX"/>
      <zoneRoute src="c1" dst="c2" gw_src="r1" gw_dst="r2"><link_ctn id="in" direction="UP"/></zoneRoute>
    </zone>
    <cluster id="c3" prefix="e" suffix="" radical="0-1" speed="1Gf" bw="1GBps" lat="1us"/>
    <link id="out" bandwidth="1GBps"/>
    <zoneRoute src="west" dst="c3" gw_src="r2" gw_dst="ec3_router"><link_ctn id="out"/></zoneRoute>
  </zone>)");
  EXPECT_EQ(route(*p, "a0", "b1"), "a0_up in_up b1_down");
  EXPECT_EQ(route(*p, "b1", "a0"), "b1_up in_down a0_down");
  EXPECT_EQ(route(*p, "a0", "e1"), "a0_up in_up out e1_down");
  EXPECT_EQ(route(*p, "e1", "a0"), "e1_up out in_down a0_down");
  EXPECT_EQ(route(*p, "b0", "e0"), "b0_up out e0_down");
}

TEST(Platform, MissingFileFolderAndGarbageAreRefused) {
  EXPECT_THROW(read_platform("/nowhere/x.xml"), InputError);
  EXPECT_THROW(read_platform("/tmp"), InputError);
  for (const char* text :
       {"", "hello", "<platform version=\"4.1\"><zone></platform>", "<plan/>", "<platform", "\xff\xfe"}) {
    const test::TempFile file(text);
    EXPECT_THROW(read_platform(file.path()), InputError) << text;
  }
}

struct Wrong {
  const char* text;
  const char* key;
  const char* reason;  // part of it
};

// Each in a zone with hosts a, b, link l, SPLITDUPLEX link d; the wrong line is the sixth.
constexpr Wrong kWrong[] = {
    {R"(<link id="x" bandwidth="5"/>)", "link x: bandwidth", "'5' is not a positive bandwidth"},
    {R"(<link id="x" bandwidth="-5GBps"/>)", "link x: bandwidth", "not a positive bandwidth"},
    {R"(<link id="x" bandwidth="0GBps"/>)", "link x: bandwidth", "not a positive bandwidth"},
    {R"(<link id="x"/>)", "link x: bandwidth", "missing"},
    {R"(<link id="" bandwidth="1GBps"/>)", "link: id", "is empty"},
    {R"(<link id="x" bandwidth="1GBps" latency="3"/>)", "link x: latency", "'3' is not a time"},
    {R"(<link id="x" bandwidth="1GBps" bandwith="3GBps"/>)", "link x: bandwith", "did you mean bandwidth?"},
    {R"(<link id="x" bandwidth="1GBps" bandwidth="2GBps"/>)", "link x: bandwidth", "stands twice"},
    {R"(<link id="x" bandwidth="1GBps" state_file="s"/>)", "link x: state_file", "not read: links and hosts change"},
    {R"(<link id="x" bandwidth="1GBps" sharing_policy="WIFI"/>)", "link x: sharing_policy", "'WIFI' is not one of"},
    {R"(<link id="l" bandwidth="1GBps"/>)", "link l", "a link named l stands above"},
    {R"(<link id="d_up" bandwidth="1GBps"/>)", "link d_up", "a link named d_up stands above"},
    {R"(<host id="a" speed="1Gf"/>)", "host a", "a host, router or zone named a stands above"},
    {R"(<router id="z"/>)", "router z", "a host, router or zone named z stands above"},
    {R"(<host id="h"/>)", "host h: speed", "missing"},
    {R"(<host id="h" speed="1Gf" pstate="1"/>)", "host h: pstate", "not read"},
    {R"(<host id="h" speed="1Gf"><disk id="d"/></host>)", "disk d", "not read: stepsim simulates no storage"},
    {R"(<peer id="h"/>)", "peer h", "not read: write a <host>"},
    {R"(<wormhole/>)", "wormhole", "cannot stand in <zone>"},
    {R"(stray words)", "zone z", "holds the text 'stray words"},
    {R"(<backbone id="x" bandwidth="1GBps" latency="0"/>)", "backbone x", "only a Cluster zone"},
    {R"(<host_link id="a" up="l" down="l"/>)", "host_link a", "only a Cluster zone"},
    {R"(<route src="a" dst="q"><link_ctn id="l"/></route>)", "route a > q: dst", "there is no host or router q above"},
    {R"(<route src="a" dst="z"><link_ctn id="l"/></route>)", "route a > z: dst", "z is not a host or router of z"},
    {R"(<route src="a" dst="b"/>)", "route a > b", "a route without links"},
    {R"(<route src="b" dst="c"><link_ctn id="l"/></route>)", "route b > c", "the same route stands above"},
    {R"(<route src="a" dst="b"><link_ctn id="q"/></route>)", "link_ctn q", "no link q stands above"},
    {R"(<route src="a" dst="b"><link_ctn id="d"/></route>)", "link_ctn d: direction", "write UP or DOWN"},
    {R"(<route src="a" dst="b"><link_ctn id="l" direction="UP"/></route>)", "link_ctn l", "SPLITDUPLEX"},
    {R"(<zoneRoute src="a" dst="b" gw_src="a" gw_dst="b"><link_ctn id="l"/></zoneRoute>)", "zoneRoute a > b: src",
     "a is not a zone of z"},
    {R"(<cluster id="x" prefix="x" suffix="" radical="0-3" speed="1f" bw="1GBps" lat="0"/>)", "zone z",
     "holds both hosts and zones"},
};

TEST(Platform, EveryWrongThingIsNamedWithItsLine) {
  for (const Wrong& wrong : kWrong) {
    const auto problems =
        problems_of(std::string(R"(<zone id="z" routing="Full"><host id="a" speed="1f"/>)") +
                    "<host id=\"b\" speed=\"1f\"/><host id=\"c\" speed=\"1f\"/>\n" +
                    R"(<link id="l" bandwidth="1GBps"/><link id="d" bandwidth="1GBps" sharing_policy="SPLITDUPLEX"/>)" +
                    "\n" + wrong.text + "\n" + R"(<route src="c" dst="b"><link_ctn id="l"/></route></zone>)");
    ASSERT_FALSE(problems.empty()) << wrong.text;
    // The last route is the twin of a wrong one that stands above it.
    const Problem& first = problems.front();
    const bool twin = std::string(wrong.reason).find("same route") != std::string::npos;
    const bool whole_zone = std::string(wrong.key) == "zone z";
    EXPECT_EQ(first.line, twin ? 7 : whole_zone ? 4 : 6) << wrong.text;
    EXPECT_EQ(first.key, twin ? "route c > b" : wrong.key) << wrong.text;
    EXPECT_NE(first.reason.find(wrong.reason), std::string::npos) << wrong.text << "\n" << first.reason;
    const bool both_ends = first.key == "zoneRoute a > b: src";
    EXPECT_EQ(problems.size(), both_ends ? 2U : 1U) << wrong.text;
  }
}

TEST(Platform, WrongZonesAndClustersAreRefused) {
  const auto reason = [](const std::string& inside) {
    const auto problems = problems_of(inside);
    return problems.empty() ? "" : to_text(problems.front());
  };
  const std::string cluster = R"(<cluster id="c" prefix="h" suffix="" speed="1f" bw="1GBps" lat="0" radical=)";
  for (const char* radical : {"x", "3-1", "0-", "1-2-3", "0-99999999", "-3", "1,,2"}) {
    EXPECT_NE(reason(cluster + "\"" + radical + "\"/>").find("radical"), std::string::npos) << radical;
  }
  EXPECT_NE(reason(cluster + "\"0,0\"/>").find("named h0 stands above"), std::string::npos);
  const auto expect = [&](const std::string& rest, const std::string& words) {
    EXPECT_NE(reason(cluster + "\"0-3\" " + rest + "/>").find(words), std::string::npos)
        << rest << ": " << reason(cluster + "\"0-3\" " + rest + "/>");
  };
  expect("topology=\"RING\"", "'RING' is not one of FLAT, TORUS, FAT_TREE");
  expect("topology=\"DRAGONFLY\" topo_parameters=\"1,1;1,1;4,1;1\"", "not read: DRAGONFLY");
  expect("topo_parameters=\"2,2\"", "a flat cluster has none");
  for (const char* wrong : {"", "2,", ",2", "2;2", "0,4", "-2,-2", "2,x", "99999999999"}) {
    expect("topology=\"TORUS\" topo_parameters=\"" + std::string(wrong) + "\"", "is not the torus's dimensions");
  }
  expect("topology=\"TORUS\" topo_parameters=\"2,3\"", "describes 6 hosts; radical names 4");
  for (const char* wrong : {"", "1;4;1", "2;4;1;1", "1;4;1;0", "1;4;1;1;1", "1,1;4;1;1", "0;;;"}) {
    expect("topology=\"FAT_TREE\" topo_parameters=\"" + std::string(wrong) + "\"", "is not a fat tree");
  }
  expect("topology=\"FAT_TREE\" topo_parameters=\"2;2,3;1,1;1,1\"", "describes 6 hosts; radical names 4");
  expect("topology=\"FAT_TREE\" topo_parameters=\"2;2,2;1,4000000;1,4000000\"", "more cables than can be simulated");
  expect("topology=\"TORUS\" topo_parameters=\"2,2\" limiter_link=\"1GBps\"", "only flat clusters have one");
  expect("topology=\"TORUS\" topo_parameters=\"2,2\" router_id=\"r\"", "only flat clusters have one");
  expect("topology=\"TORUS\" topo_parameters=\"2,2\" bb_bw=\"1GBps\"", "only flat clusters have one");
  EXPECT_EQ(reason(cluster + "\"0\" loopback_bw=\"1GBps\" loopback_lat=\"0\"/>"), "");
  EXPECT_NE(reason(cluster + "\"0\" loopback_bw=\"1\"/>").find("is not a positive bandwidth"), std::string::npos);
  EXPECT_NE(reason(cluster + "\"0\" bb_lat=\"1us\"/>").find("needs bb_bw"), std::string::npos);
  EXPECT_NE(reason(R"(<zone id="z" routing="Vivaldi"/>)").find("'Vivaldi' is not one of"), std::string::npos);
  EXPECT_NE(reason("").find("holds no <zone>"), std::string::npos);
  const auto itself = [&](const std::string& routing) {
    return reason("<zone id=\"z\" routing=\"" + routing +
                  "\"><host id=\"a\" speed=\"1f\"/><link id=\"l\" bandwidth=\"1Bps\"/>"
                  "<route src=\"a\" dst=\"a\"><link_ctn id=\"l\"/></route></zone>");
  };
  EXPECT_EQ(itself("Full"), "");
  EXPECT_NE(itself("Floyd").find("leads to where it starts"), std::string::npos);
  EXPECT_NE(itself("Dijkstra").find("leads to where it starts"), std::string::npos);
  EXPECT_NE(reason(R"(<zone id="y" routing="None"/><zone id="z" routing="None"/>)").find("second zone at the top"),
            std::string::npos);
  EXPECT_NE(reason(R"(<config/><zone id="z" routing="None"/>)").find("sets SimGrid's options itself"),
            std::string::npos);
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "<zone id=\"z" + std::to_string(i) + "\" routing=\"None\">";
  for (int i = 0; i < 100000; ++i) deep += "</zone>";
  EXPECT_NE(reason(deep).find("nested more than 64 deep"), std::string::npos);
}

TEST(Platform, AllProblemsComeTogether) {
  EXPECT_EQ(problems_of(R"(<zone id="z" routing="Full">
    <link id="x" bandwidth="5" latency="2" colour="red"/>
    <host/>
    <route src="p" dst="q"/>
  </zone>)")
                .size(),
            7U);
}

}  // namespace stepsim::platform_test
