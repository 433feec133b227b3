#!/bin/sh
# A node in namespaces of its own: containerd and kubelet behind one veth, a bootstrap kubeconfig as the only credential.
#
# node.sh network DIRECTORY NAME NETWORK         the veth; the host's end is NETWORK.1
# node.sh start DIRECTORY NAME NETWORK KUBELET   the rest; DIRECTORY has bootstrap.kubeconfig and ca.crt already
# node.sh stop DIRECTORY NAME NETWORK            ends it and leaves nothing behind
set -eu
action=$1 directory=$2 name=$3 network=$4
host_address=$network.1 node_address=$network.2
controllers="cpu cpuacct cpuset memory devices freezer blkio pids systemd"
mounted="/var/lib/kubelet /var/lib/containerd /var/lib/cni /etc/cni /etc/kubernetes /var/log"
settings="vm.overcommit_memory kernel.panic kernel.panic_on_oops"

make_network() {
    ip netns add "$name"
    ip -n "$name" link set lo up
    ip link add "v-$name" type veth peer name eth0 netns "$name"
    ip addr add "$host_address/30" dev "v-$name"
    ip link set "v-$name" up
    ip -n "$name" addr add "$node_address/30" dev eth0
    ip -n "$name" link set eth0 up
    ip -n "$name" route add default via "$host_address"
    nsenter --net="/run/netns/$name" sysctl -qw net.ipv4.ip_forward=1
}

need() {
    missing=
    for tool in busybox containerd ctr runc /usr/lib/cni/bridge; do
        command -v "$tool" >/dev/null || missing="$missing $tool"
    done
    [ -z "$missing" ] || {
        echo "missing:$missing (on Debian: apt-get install busybox-static containerd runc containernetworking-plugins)" >&2
        exit 1
    }
}

image() {
    work=$directory/image
    mkdir -p "$work/root/bin" "$work/root/tmp"
    cp "$(command -v busybox)" "$work/root/bin/busybox"
    tar -C "$work/root" -cf "$work/layer.tar" .
    digest=$(sha256sum "$work/layer.tar" | cut -d' ' -f1)
    printf '{"architecture":"amd64","os":"linux","config":{"Entrypoint":["/bin/busybox","sleep","1000000"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' "$digest" >"$work/config.json"
    printf '[{"Config":"config.json","RepoTags":["registry.test/pause:1"],"Layers":["layer.tar"]}]' >"$work/manifest.json"
    tar -C "$work" -cf "$directory/image.tar" manifest.json config.json layer.tar
}

configuration() {
    for path in $mounted; do mkdir -p "$directory$path"; done
    mkdir -p "$directory/etc/cni/net.d"
    # The server's certificate names kubernetes; here that is the host's end of the veth.
    printf '127.0.0.1 localhost\n%s kubernetes\n%s %s\n' "$host_address" "$node_address" "$name" >"$directory/etc/hosts"
    cp "$directory/ca.crt" "$directory/bootstrap.kubeconfig" "$directory/etc/kubernetes/"
    cat >"$directory/etc/cni/net.d/10-bridge.conflist" <<END
{"cniVersion":"0.4.0","name":"pods","plugins":[{"type":"bridge","bridge":"cni0","isGateway":true,"ipMasq":false,
"ipam":{"type":"host-local","ranges":[[{"subnet":"$network.128/25"}]]}}]}
END
    cat >"$directory/etc/kubernetes/containerd.toml" <<END
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.test/pause:1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
END
    cat >"$directory/etc/kubernetes/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: /test-$name
oomScoreAdj: 0
resolvConf: ""
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
serverTLSBootstrap: true
rotateCertificates: true
failSwapOn: false
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: /etc/kubernetes/ca.crt}}
authorization: {mode: Webhook}
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
evictionHard: {memory.available: 100Mi, nodefs.available: "1%", imagefs.available: "1%"}
END
}

cgroups() {
    for controller in $controllers; do mkdir -p "/sys/fs/cgroup/$controller/test-$name"; done
    for file in cpus mems; do
        cat "/sys/fs/cgroup/cpuset/cpuset.$file" >"/sys/fs/cgroup/cpuset/test-$name/cpuset.$file"
    done
}

inside() { nsenter -t "$(cat "$directory/holder.pid")" -n -m -p -u -i "$@"; }

start() {
    need
    kubelet=$1
    for setting in $settings; do sysctl "$setting"; done >"$directory/settings"
    for path in $mounted; do [ -d "$path" ] || echo "$path"; done >"$directory/made"
    image
    configuration
    cgroups
    nsenter --net="/run/netns/$name" unshare --mount --pid --uts --ipc --fork --kill-child --mount-proc \
        --propagation private sh -c "
        hostname $name; mount --make-rshared /; mount -t tmpfs tmpfs /run
        for path in $mounted; do mkdir -p \$path; mount --bind $directory\$path \$path; done
        mount --bind $directory/etc/hosts /etc/hosts; mount --make-rshared /var/lib/kubelet
        while :; do sleep 1000; done" >"$directory/holder.log" 2>&1 &
    outer=$!
    echo "$outer" >"$directory/outer.pid"
    until pgrep -P "$outer" >"$directory/holder.pid"; do sleep 0.1; done
    until inside mountpoint -q /var/log; do sleep 0.1; done
    inside containerd --config /etc/kubernetes/containerd.toml >"$directory/containerd.log" 2>&1 &
    until inside ctr -n k8s.io images import "$directory/image.tar" >"$directory/import.log" 2>&1; do sleep 0.3; done
    inside "$kubelet" --config=/etc/kubernetes/kubelet.yaml --bootstrap-kubeconfig=/etc/kubernetes/bootstrap.kubeconfig \
        --kubeconfig=/var/lib/kubelet/kubeconfig --node-ip="$node_address" --v=2 >"$directory/kubelet.log" 2>&1 &
}

stop() {
    [ ! -s "$directory/holder.pid" ] || kill -9 "$(cat "$directory/holder.pid")" 2>/dev/null || true
    [ ! -s "$directory/outer.pid" ] || kill -9 "$(cat "$directory/outer.pid")" 2>/dev/null || true
    sleep 1
    ip link del "v-$name" 2>/dev/null || true
    ip netns del "$name" 2>/dev/null || true
    for controller in $controllers; do
        root=/sys/fs/cgroup/$controller/test-$name
        [ ! -d "$root" ] || find "$root" -depth -type d -exec rmdir {} +
    done
    [ ! -s "$directory/settings" ] || sysctl -q -p "$directory/settings" || true
    [ ! -s "$directory/made" ] || while read -r path; do rmdir -p --ignore-fail-on-non-empty "$path" 2>/dev/null || true; done <"$directory/made"
}

case $action in
network) make_network ;;
start) start "$5" ;;
stop) stop ;;
esac
