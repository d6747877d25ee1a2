"""Machines with published figures: each option's value and where it comes from. An option of the command line replaces
the value and its source."""

TABLE_5 = 'DeepSeek, "Insights into DeepSeek-V3", Table 5'
AS_TABLE_5 = f"assumption: as on H800 ({TABLE_5})"
GTC24 = "NVIDIA GTC 2024 slide in github.com/stas00/ml-engineering, network/benchmarks"
GTC25 = "NVIDIA GTC 2025 slide in github.com/stas00/ml-engineering, network/images"
NCCL_290 = "46 to 48 GB/s a card with NCCL: github.com/NVIDIA/nccl-tests, issues 267 and 290"


def system(gpu, nvlink, nic, gpus=8, nics=None, nvlink_latency=AS_TABLE_5, latency=AS_TABLE_5, **more):
    values = {
        "gpu": (gpu, None),
        "gpus_per_node": (str(gpus), None),
        "nics_per_node": (str(nics), None) if nics else None,  # as many as GPUs
        "nvlink_bandwidth": nvlink,
        "nic_bandwidth": nic,
        "nvlink_latency": ("3.33us", nvlink_latency),
        "leaf_latency": ("2.8us", latency),
        "spine_latency": ("3.7us", latency + "; InfiniBand" if latency == TABLE_5 else latency),
    }
    values.update(more)
    return {name: value for name, value in values.items() if value}


A100_NVLINK = (
    "235GBps",
    "achieved: NCCL all-reduce, 8 x A100, 234.9 GB/s bus bandwidth (github.com/stas00/ml-engineering, "
    "network/README.md); 300 by the A100 data sheet",
)
H100_NVLINK = ("370GBps", f"achieved: NCCL ring all-reduce, 8 x H100 ({GTC24}); 450 by the H100 data sheet")
NVL72_NVLINK = (
    "680GBps",
    f"achieved: all-reduce without SHARP over 32 GPUs of a GB200 NVL72 ({GTC25}); 900 by the data sheet",
)
CONNECTX_7 = ("48GBps", f"achieved: {NCCL_290}; ConnectX-7, 400 Gb/s = 50 by the data sheet")
HDR = ("24GBps", f"achieved: all-to-all over 32 A100 ({GTC25}); ConnectX-6, 200 Gb/s = 25 by the data sheet")
HDR_SHARED = ("24GBps", f"achieved: all-reduce over one 200 Gb/s card ({GTC24}); 25 by the data sheet")
GBE_100 = ("12GBps", "assumption: 96 % of 100 Gb/s, the share that 200 and 400 Gb/s cards reach with NCCL")

SU_A100 = ("20", "scalable unit of the DGX SuperPOD A100 reference architecture: 20 nodes, a leaf switch a rail")
SU_H100 = ("32", "scalable unit of the DGX SuperPOD H100 reference architecture: 32 nodes, a leaf switch a rail")

SYSTEMS = {
    "hgx-h800": system(
        "gpus/h800-sxm.yaml",
        ("160GBps", "achieved: DeepSeek-V3 report, section 3.2.2; 200 by the data sheet"),
        ("50GBps", "DeepSeek-V3 report, section 3.2.2: ConnectX-7, 400 Gb/s"),
        nvlink_latency=TABLE_5,
        latency=TABLE_5,
        leaf_size=("32", "a 64-port switch has 32 ports down and 32 up"),
    ),
    "dgx-a100-40": system("gpus/a100-40-sxm.yaml", A100_NVLINK, HDR, leaf_size=SU_A100),
    "dgx-a100-80": system("gpus/a100-80-sxm.yaml", A100_NVLINK, HDR, leaf_size=SU_A100),
    "hgx-a800": system(
        "gpus/a100-80-sxm.yaml",
        ("157GBps", "assumption: the share of the A800 data sheet's 200 that the A100 reaches of its 300 (78 %)"),
        HDR,
        leaf_size=SU_A100,
    ),
    "dgx2-v100": system(
        "gpus/v100-32-sxm.yaml",
        ("118GBps", "assumption: the share of the DGX-2 data sheet's 150 that the A100 reaches of its 300 (78 %)"),
        ("12GBps", "assumption: 96 % of the 100 Gb/s of ConnectX-5 (DGX-2 data sheet), the share that 200 and 400 Gb/s cards "
         "reach with NCCL"),
        gpus=16,
        nics=8,
    ),
    "a100-4x200": system("gpus/a100-80-sxm.yaml", A100_NVLINK, HDR_SHARED, nics=4),
    "a100-4x100": system("gpus/a100-80-sxm.yaml", A100_NVLINK, GBE_100, nics=4),
    "a100-1x100": system("gpus/a100-80-sxm.yaml", A100_NVLINK, GBE_100, nics=1),
    "a100-pcie": system(
        "gpus/a100-80-pcie.yaml",
        None,
        HDR_SHARED,
        nics=2,
        pcie_bandwidth=("26GBps", "achieved: nvbandwidth, host to device, A100 80 GB: 26.3 "
                        "(github.com/Azure/AI-benchmarking-guide, ND_A100_v4); PCIe 4.0 x16, 32 by the standard"),
        pcie_latency=("2us", "assumption: no published figure was found"),
        bridge_bandwidth=("26GBps", "assumption: as fast as one GPU's PCIe"),
        bridge_latency=("1us", "assumption: no published figure was found"),
    ),
    "dgx-h100": system("gpus/h100-sxm.yaml", H100_NVLINK, CONNECTX_7, leaf_size=SU_H100),
    "hgx-h200": system(
        "gpus/h200-sxm.yaml",
        ("367GBps", "achieved: NCCL ring all-reduce, 8 x H200, 367.2 GB/s bus bandwidth "
         "(github.com/stas00/ml-engineering, network/README.md); 450 by the H200 data sheet"),
        CONNECTX_7,
        leaf_size=SU_H100,
    ),
    "hgx-b200": system(
        "gpus/b200.yaml",
        ("700GBps", f"achieved: all-reduce without SHARP, 8 x B200 ({GTC25}); 900 by the B200 data sheet"),
        CONNECTX_7,
        leaf_size=SU_H100,
    ),
    "gb200-nvl72": system(
        "gpus/gb200.yaml",
        NVL72_NVLINK,
        CONNECTX_7,
        gpus=72,
        rails=("4", "a compute tray has 4 GPUs and 4 ConnectX-7 (GB200 NVL72 data sheet): rail i joins card i of the "
               "trays"),
        leaf_size=("1", "assumption: a rail of a rack (18 cards, one a tray) has a leaf switch of its own"),
    ),
    "gb300-nvl72": system(
        "gpus/gb300.yaml",
        (NVL72_NVLINK[0], "assumption: as GB200 NVL72, which has the same NVLink 5: " + NVL72_NVLINK[1]),
        ("96GBps", "assumption: 96 % of ConnectX-8's 800 Gb/s (GB300 NVL72 data sheet), the share ConnectX-7 reaches"),
        gpus=72,
        rails=("4", "a compute tray has 4 GPUs and 4 ConnectX-8: rail i joins card i of the trays"),
        leaf_size=("1", "assumption: a rail of a rack (18 cards, one a tray) has a leaf switch of its own"),
    ),
}
