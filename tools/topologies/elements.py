"""The elements of a SimGrid platform file (DTD 4.1), one line each."""

from .quantities import Time


def radical(numbers):
    """1,2,3,7 as SimGrid writes it: 1-3,7."""
    ranges = []
    for n in numbers:
        if ranges and n == ranges[-1][1] + 1:
            ranges[-1][1] = n
        else:
            ranges.append([n, n])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


def star(name, prefix, numbers, speed, latency, router):
    """One switch with its hosts. SimGrid demands a compute speed of a host; stepsim takes it from the GPU's file."""
    return (
        f'<cluster id="{name}" prefix="{prefix}" suffix="" radical="{radical(numbers)}" speed="1Gf" '
        f'bw="{speed}" lat="{Time(latency)}" sharing_policy="SPLITDUPLEX" router_id="{router}"/>'
    )


def switch(name, router):
    """A zone with nothing but a switch."""
    return f'<zone id="{name}" routing="Full"><router id="{router}"/></zone>'


def link(name, speed, latency):
    return f'<link id="{name}" bandwidth="{speed}" latency="{Time(latency)}" sharing_policy="SPLITDUPLEX"/>'


def zone_route(source, target, gateways, wire):
    """Over one link, which it crosses upwards; the way back crosses it downwards."""
    return (
        f'<zoneRoute src="{source}" dst="{target}" gw_src="{gateways[0]}" gw_dst="{gateways[1]}">'
        f'<link_ctn id="{wire}" direction="UP"/></zoneRoute>'
    )


def zone(name, routing, lines):
    return [f'<zone id="{name}" routing="{routing}">', *("  " + line for line in lines), "</zone>"]
