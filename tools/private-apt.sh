# SPDX-License-Identifier: MIT
#
# For scripts that source it: Debian's packages unpacked in a folder. apt gets its own state, cache and
# sources; nothing outside the folder is touched.
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

can_fetch() {
    command -v apt-get > /dev/null && command -v dpkg-deb > /dev/null && [ -f $keyring ]
}

# The first Debian mirror of the system's own sources.
mirror() {
    uri=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null |
        grep -v security | grep '/debian/*$' | head -n 1)
    echo "${uri:-http://deb.debian.org/debian}"
}

# private_apt FOLDER ...: for $apt_arch, the system's own unless set. A mirror that lags behind is good
# enough: what it has is signed all the same.
private_apt() {
    state=$1
    shift
    arch=${apt_arch:-$(dpkg --print-architecture)}
    apt-get -qq -o APT::Architecture="$arch" -o APT::Architectures="$arch" \
        -o Dir::State="$state" -o Dir::State::status="$state/status" \
        -o Dir::Cache="$state/cache" -o Dir::Etc::sourcelist="$state/sources.list" \
        -o Dir::Etc::sourceparts="$state/none" -o Dir::Etc::preferences="$state/none" \
        -o Dir::Etc::preferencesparts="$state/none" -o Acquire::Check-Valid-Until=false \
        -o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none -o Acquire::Retries=3 "$@"
}

# prepare FOLDER SUITE COMPONENT: for private_apt FOLDER/apt; with $apt_security the suite's security
# updates too, which is where newer versions of LLVM come from.
prepare() {
    mkdir -p "$1/apt/lists/partial" "$1/apt/cache/archives/partial" "$1/apt/none"
    : > "$1/apt/status"
    echo "deb [signed-by=$keyring] $(mirror) $2 $3" > "$1/apt/sources.list"
    [ -z "${apt_security:-}" ] ||
        echo "deb [signed-by=$keyring] $(mirror)-security $2-security $3" >> "$1/apt/sources.list"
}

# unpack FOLDER SUITE PACKAGE...: with all that they depend on.
unpack() {
    into=$1
    suite=$2
    shift 2
    prepare "$into" "$suite" main
    private_apt "$into/apt" update &&
        private_apt "$into/apt" install -y --no-install-recommends --download-only "$@" ||
        return 1
    for deb in "$into"/apt/cache/archives/*.deb; do dpkg -x "$deb" "$into" || return 1; done
    rm -rf "$into/apt"
}
