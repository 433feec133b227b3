#!/bin/sh
# Hosts that systemd boots, without a virtual machine: a Debian root in systemd-nspawn, in a network namespace of its own.
#
# host.sh base CACHE                          a root that hosts are copied from, once; needs debootstrap and the network
# host.sh image CACHE                         the same with a container runtime, as images for Ignition have one, once
# host.sh network                             the network of the control plane: a namespace with a bridge
# host.sh make ROOT DIRECTORY NAME NUMBER     a new host with a copy of a root, off
# host.sh hide DIRECTORY NAME NUMBER          puts it behind a router that translates addresses
# host.sh ignite DIRECTORY NAME USERDATA      Ignition's stages, in the host's network, as before its first boot
# host.sh on DIRECTORY NAME SHARED            boots it; SHARED is seen as /opt/shared
# host.sh cut DIRECTORY NAME                  the power fails
# host.sh run DIRECTORY NAME COMMAND...       runs a command on it
# host.sh snapshot DIRECTORY NAME             everything that leaving has to put back
# host.sh remove DIRECTORY NAME               ends it and leaves nothing behind
# host.sh clean                               the same for the control plane's network
set -eu
# Runs at the same time have namespaces of their own.
plane=${PLANE:-roost-hosts}
bridge=10.211.0.1
controllers="cpu cpuacct cpuset memory devices freezer blkio pids"
ignition=/usr/lib/dracut/modules.d/30ignition/ignition
packages="conntrack containernetworking-plugins ethtool iptables nftables socat containerd runc"

base() {
    cache=$1
    [ ! -d "$cache/base" ] || return 0
    part=$cache/base.part
    rm -rf "$part"
    mkdir -p "$cache"
    debootstrap --variant=minbase --include=systemd-sysv,udev,dbus,iproute2,kmod,procps,ca-certificates \
        bookworm "$part" http://deb.debian.org/debian
    # Hosts reach no mirror: what may be installed lies in a repository on their own disk.
    cp /etc/resolv.conf "$part/etc/resolv.conf"
    chroot "$part" apt-get clean
    chroot "$part" apt-get update -q
    # shellcheck disable=SC2086
    chroot "$part" apt-get install -y -q --no-install-recommends --download-only $packages
    mkdir -p "$part/opt/debs"
    mv "$part"/var/cache/apt/archives/*.deb "$part/opt/debs/"
    (cd "$part/opt/debs" && dpkg-scanpackages -m . >Packages)
    echo "deb [trusted=yes] file:/opt/debs ./" >"$part/etc/apt/sources.list"
    rm -rf "$part/etc/resolv.conf" "$part"/var/lib/apt/lists/*
    chroot "$part" apt-get update -q
    # The first removal of a package spells the database anew.
    chroot "$part" apt-get install -y -q ethtool
    chroot "$part" apt-get purge -y -q ethtool
    mv "$part" "$cache/base"
}

image() {
    cache=$1
    [ ! -d "$cache/image" ] || return 0
    part=$cache/image.part
    rm -rf "$part"
    cp -a "$cache/base" "$part"
    # shellcheck disable=SC2086
    chroot "$part" apt-get install -y -q --no-install-recommends $packages
    mkdir -p "$part/opt/cni"
    cp -a "$part/usr/lib/cni" "$part/opt/cni/bin"
    : >"$part/etc/resolv.conf"
    echo uninitialized >"$part/etc/machine-id"
    # Its network is there before it boots, and is nothing that systemd would wait for.
    ln -s /dev/null "$part/etc/systemd/system/systemd-networkd-wait-online.service"
    # The packaged Ignition ends by labelling files.
    printf 'SELINUX=disabled\nSELINUXTYPE=targeted\n' >"$part/etc/selinux/config"
    mv "$part" "$cache/image"
}

network() {
    ip netns add "$plane"
    ip -n "$plane" link set lo up
    ip -n "$plane" link add br0 type bridge
    ip -n "$plane" addr add $bridge/24 dev br0
    ip -n "$plane" link set br0 up
}

make() {
    root=$1 directory=$2 name=$3 number=$4
    mkdir -p "$directory"
    cp -a "$root" "$directory/root"
    echo "$name" >"$directory/root/etc/hostname"
    printf '127.0.0.1 localhost\n10.211.0.%s %s\n' "$number" "$name" >"$directory/root/etc/hosts"
    # A host that was never booted gets its identity when it is.
    if ! grep -qx uninitialized "$directory/root/etc/machine-id" 2>/dev/null; then
        od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"$directory/root/etc/machine-id"
        echo >>"$directory/root/etc/machine-id"
    fi
    ip netns add "$name"
    ip -n "$name" link set lo up
    ip link add "v-$name" netns "$plane" type veth peer name eth0 netns "$name"
    ip -n "$plane" link set "v-$name" master br0 up
    ip -n "$name" addr add "10.211.0.$number/24" dev eth0
    ip -n "$name" link set eth0 up
    ip -n "$name" route add default via $bridge
}

hide() {
    directory=$1 name=$2 number=$3 router=$2-r
    printf '127.0.0.1 localhost\n192.168.77.%s %s\n' "$number" "$name" >"$directory/root/etc/hosts"
    ip netns add "$router"
    ip -n "$router" link set lo up
    ip -n "$plane" link del "v-$name"
    ip link add "v-$name" netns "$plane" type veth peer name outside netns "$router"
    ip -n "$plane" link set "v-$name" master br0 up
    ip -n "$router" addr add "10.211.0.$number/24" dev outside
    ip -n "$router" link set outside up
    ip link add inside netns "$router" type veth peer name eth0 netns "$name"
    ip -n "$router" addr add 192.168.77.1/24 dev inside
    ip -n "$router" link set inside up
    ip -n "$name" addr add "192.168.77.$number/24" dev eth0
    ip -n "$name" link set eth0 up
    ip -n "$name" route add default via 192.168.77.1
    nsenter --net="/run/netns/$router" sysctl -qw net.ipv4.ip_forward=1
    nsenter --net="/run/netns/$router" nft 'add table ip router {
        chain translate { type nat hook postrouting priority 100; oifname "outside" masquerade; }
        chain keep { type filter hook forward priority 0; iifname "outside" ct state new drop; }
    }'
}

ignite() {
    directory=$1 name=$2 file=$3
    mkdir -p "$directory/tools"
    printf '#!/bin/sh\nexit 0\n' >"$directory/tools/setfiles"
    chmod 755 "$directory/tools/setfiles"
    for stage in fetch files; do
        nsenter --net="/run/netns/$name" env PATH="$directory/tools:$PATH" IGNITION_CONFIG_FILE="$file" \
            timeout 120 $ignition --platform=file --stage=$stage --root="$directory/root" \
            --config-cache="$directory/ignition.json" --neednet="$directory/neednet" --log-to-stdout
    done
}

on() {
    directory=$1 name=$2 shared=$3
    # The hierarchies of systemd are taken from where the starter is.
    sh -c "
        for hierarchy in systemd unified; do
            mkdir -p /sys/fs/cgroup/\$hierarchy/$name
            echo \$\$ >/sys/fs/cgroup/\$hierarchy/$name/cgroup.procs
        done
        export SYSTEMD_NSPAWN_API_VFS_WRITABLE=1
        exec systemd-nspawn --quiet --boot --directory=$directory/root --machine=$name --register=no --keep-unit \
            --network-namespace-path=/run/netns/$name --capability=all --system-call-filter=@known --console=pipe \
            --resolv-conf=off --timezone=off --link-journal=no --bind=/dev/kmsg --bind-ro=$shared:/opt/shared
    " >"$directory/console.log" 2>&1 </dev/null &
    echo $! >"$directory/outer.pid"
    # A process in between comes first; only the one that became systemd is the host.
    until pgrep -P "$(cat "$directory/outer.pid")" -x systemd >"$directory/leader.pid"; do sleep 0.1; done
    until run "$directory" "$name" test -S /run/dbus/system_bus_socket 2>/dev/null; do sleep 0.2; done
    # nspawn shows them read-only; kubelets need them.
    for controller in $controllers; do
        nsenter -t "$(cat "$directory/leader.pid")" -m mount -o remount,rw,bind "/sys/fs/cgroup/$controller"
    done
    for controller in $controllers systemd; do
        run "$directory" "$name" mkdir -p "/sys/fs/cgroup/$controller/test-$name"
    done
    for file in cpus mems; do
        run "$directory" "$name" sh -c "cat /sys/fs/cgroup/cpuset/cpuset.$file >/sys/fs/cgroup/cpuset/test-$name/cpuset.$file"
    done
}

cut() {
    [ -d "$1" ] || return 0
    directory=$1 name=$2
    [ ! -s "$directory/leader.pid" ] || kill -9 "$(cat "$directory/leader.pid")" 2>/dev/null || true
    outer=$(cat "$directory/outer.pid" 2>/dev/null || echo)
    tries=0
    while [ -n "$outer" ] && kill -0 "$outer" 2>/dev/null && [ $tries -lt 20 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    # The process around a host goes with it, late at times.
    [ -z "$outer" ] || kill -9 "$outer" 2>/dev/null || true
    : >"$directory/outer.pid"
    : >"$directory/leader.pid"
    # The namespace outlives the host here; without power it would not.
    nsenter --net="/run/netns/$name" nft flush ruleset 2>/dev/null || true
    for link in $(ip -n "$name" -o link show 2>/dev/null | awk -F': ' '{print $2}' | sed 's/@.*//'); do
        case $link in lo | eth0) ;; *) ip -n "$name" link del "$link" 2>/dev/null || true ;; esac
    done
}

run() {
    directory=$1
    shift 2
    nsenter -t "$(cat "$directory/leader.pid")" -m -p -n -u -i env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"
}

# Logs and caches of the package manager differ after any installation; so do times of directories.
snapshot() {
    directory=$1 name=$2
    echo "# files"
    (
        cd "$directory/root"
        pruned() {
            find . -xdev \( -path ./var/log -o -path ./var/cache -o -path ./var/lib/apt/lists -o -path ./tmp -o -path ./run \
                -o -path './var/lib/dpkg/*-old' -o -path ./var/lib/systemd/random-seed -o -path './var/tmp/*' \) -prune -o "$@"
        }
        pruned -type f -printf '%p %m %U:%G %s %T@\n' -o -type l -printf '%p %m %U:%G -> %l\n' -o -printf '%p %y %m %U:%G\n'
        pruned -type f -print0 | xargs -0 sha256sum
    ) | grep -v '^./var/lib/dpkg/[^ ]* .*\.[0-9]*$' | LC_ALL=C sort
    echo "# packages"
    run "$directory" "$name" dpkg-query -W -f '${Package} ${Version} ${db:Status-Abbrev}\n'
    echo "# marks"
    run "$directory" "$name" apt-mark showauto
    echo "# units"
    run "$directory" "$name" systemctl list-unit-files --no-legend --no-pager
    run "$directory" "$name" systemctl list-units --all --plain --no-legend --no-pager --type=service,socket,mount,slice | awk '{print $1, $2, $3}' | grep -v ' not-found \|^run-\|^user-\|^session-\|^systemd-tmpfiles-clean'
    echo "# mounts"
    run "$directory" "$name" cat /proc/self/mounts | awk '{print $1, $2, $3}' | sort
    echo "# interfaces"
    run "$directory" "$name" ip -o link show | awk '{print $2, $3}'
    run "$directory" "$name" ip -o addr show scope global | awk '{print $2, $4}'
    run "$directory" "$name" ip route show
    echo "# packet filters"
    nsenter --net="/run/netns/$name" nft list ruleset
    echo "# settings"
    for setting in net.ipv4.ip_forward net.ipv6.conf.all.forwarding vm.overcommit_memory kernel.panic kernel.panic_on_oops \
        fs.inotify.max_user_instances fs.inotify.max_user_watches kernel.keys.root_maxkeys kernel.keys.root_maxbytes; do
        run "$directory" "$name" sysctl "$setting"
    done
}

remove() {
    directory=$1 name=$2
    cut "$directory" "$name"
    for hierarchy in $controllers; do
        root=/sys/fs/cgroup/$hierarchy/test-$name
        [ ! -d "$root" ] || find "$root" -depth -type d -exec rmdir {} + 2>/dev/null || true
    done
    for hierarchy in systemd unified; do
        root=/sys/fs/cgroup/$hierarchy/$name
        [ ! -d "$root" ] || find "$root" -depth -type d -exec rmdir {} + 2>/dev/null || true
    done
    ip -n "$plane" link del "v-$name" 2>/dev/null || true
    ip netns del "$name" 2>/dev/null || true
    ip netns del "$name-r" 2>/dev/null || true
    rm -rf "$directory/root"
}

clean() {
    ip netns del "$plane" 2>/dev/null || true
}

action=$1
shift
"$action" "$@"
