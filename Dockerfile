# SPDX-License-Identifier: MIT
#
# An image to develop and to profile in: Debian 12 with what hotpath is built and
# tested with, and samply.  doc/guide/containers.md says how it is used.

FROM rust:1-slim-bookworm AS samply
RUN cargo install --locked samply@0.13.1

FROM debian:12-slim
COPY scripts/setup /tmp/setup
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates make && \
	/tmp/setup build demo test && apt-get clean && rm -rf /var/lib/apt/lists/* /tmp/setup
COPY --from=samply /usr/local/cargo/bin/samply /usr/local/bin/samply
# The build of the container, beside the one of the host in the same tree.
ENV B=/var/tmp/hotpath-build
WORKDIR /work
CMD ["sleep", "infinity"]
