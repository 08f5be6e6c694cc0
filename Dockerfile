# SPDX-License-Identifier: MIT
#
#     docker build -t heddle .
#     docker run --rm -v "$PWD:/work" heddle heddle run k.comp ...
#
# The release is made in one stage (`make package`) and unpacked in another, which has Python and
# Vulkan's loader beside it.
FROM debian:12 AS build
RUN apt-get -qq update && apt-get -qq install -y --no-install-recommends \
        make ca-certificates debian-archive-keyring
COPY . /src
RUN make -C /src package && mkdir /out && \
    tar --zstd -C /out --strip-components=1 -xf /src/build/package/heddle-*.tar.zst && \
    mkdir /python && cp -rL /src/python/heddle /python

FROM debian:12-slim
RUN apt-get -qq update && apt-get -qq install -y --no-install-recommends \
        libvulkan1 vulkan-tools python3-numpy && rm -rf /var/lib/apt/lists/*
COPY --from=build /out /opt/heddle
COPY --from=build /python /usr/local/lib/python3.11/dist-packages
ENV PATH=/opt/heddle/bin:$PATH HEDDLE_LIBRARY=/opt/heddle/lib/libheddle.so.0.2 \
    VK_DRIVER_FILES=/opt/heddle/share/vulkan/icd.d/heddle_icd.json \
    VK_ICD_FILENAMES=/opt/heddle/share/vulkan/icd.d/heddle_icd.json
WORKDIR /work
CMD ["heddle", "info"]
