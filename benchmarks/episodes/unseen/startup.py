"""Jobs that never begin."""

from __future__ import annotations

FORMS: dict[str, tuple[str, ...]] = {
    "import_fails": (
        "ImportError: /opt/rocm/lib/libMIOpen.so.1: file too short",
        "»python: error while loading shared libraries: libze_loader.so.1: cannot read file data: Is a directory\nstopped before main",
        "RuntimeError: op library custom_ops.abi3.so needs GLIBCXX_3.4.32, which this host's libstdc++ does not have",
    ),
    "driver_of_one_node": (
        "RuntimeError: KFD: /dev/kfd is there but the kernel side speaks another interface version (1.14, wanted 1.17)",
        "RuntimeError: habana: kernel module 1.15.1 and user libraries 1.17.0 do not go together",
        "»nrt_init: incompatible driver: aws-neuronx-dkms 2.12 found, at least 2.16 needed\n  at nrt/init.cc:77",
    ),
    "device_code_everywhere": (
        "RuntimeError: HIP error: code object has no image for gfx942",
        "neuronxcc.driver.CommandDriver: [NCC_EARG001] target trn3 is not among those this model was compiled for",
    ),
    "names_of_one_node": (
        "»panic: dial: lookup $first: server misbehaving (SERVFAIL from 127.0.0.53:53)\ngoroutine 1 [running]:\nmain.join(0xc000$n)",
        "»java.net.UnknownHostException: $first: Name or service not known",
        "RuntimeError: tcp://$first:29400 is no address: resolver has no answer (resolv.conf is empty)",
    ),
    "port_taken": (
        "»panic: listen tcp 0.0.0.0:29400: bind: address already in use\ngoroutine 1 [running]:\nmain.serveRendezvous()",
        "»java.net.BindException: Address already in use: rendezvous port 7077",
        "zmq.error.ZMQError: port tcp://*:5557 is owned by somebody else (EADDRINUSE)",
    ),
    "port_taken/others": (
        "rendezvous: nobody listens at the meeting point, gave up after 300 s",
        "RuntimeError: handshake with the head process was not answered",
    ),
    "launch_refused_on_node": (
        "spawn on $node denied: token of job $job is not valid there (issued in the future)",
        "mpiexec: $node: pam_listfile: session for the job's user refused, process manager not started",
        "task start on $node: 401 unauthorized: host certificate expired",
    ),
    "container_of_one_node": (
        "»$node: Error response from daemon: failed to register layer: write /var/lib/docker/tmp: disk is full\nexit status 125",
        "»$node: Failed to pull image: rpc error: code = Unknown desc = unpack layer: archive/tar: no room on /run/containerd\nErrImagePull",
        "$node: sarus: loop device for squashfs could not be attached, rootfs is missing",
    ),
    "prolog_failed": (
        "node check before job $job: $node did not pass (rvs stress level 1, gpu 3), host removed from service",
        "pre-job hook returned 17 on $node: scratch not mounted; node goes to maintenance",
    ),
    "prolog_failed/launcher": (
        "allocation $job: $node dropped out in its pre-job check, nothing was started",
        "launch stopped: pre-job hook of $node said no (17)",
    ),
    "library_versions_differ": (
        "bootstrap handshake: peers disagree on protocol: rank $rank speaks 2.20, rank $odd speaks 2.18",
        "HCCL check: toolkit 8.0.RC2 at rank $rank but 7.0.1 at rank $odd, world refused",
    ),
    "library_versions_differ/others": (
        "RuntimeError: world could not be formed: handshake was refused",
        "RuntimeError: init of the backend returned 5 (refused by root)",
    ),
}
