# moet-boot over a vLLM-Moet image for a DGX Spark (GB10): Arm.
#
#   scripts/build_image gb10 --base vllm-moet-gb10:v024 --tag moet-boot-gb10:v024
#
# The script reads the base's entrypoint and command and passes them on; a plain `docker build` must name them:
#   docker build -f dockerfiles/gb10.Dockerfile --build-arg BASE_IMAGE=vllm-moet-gb10:v024 \
#     --build-arg BASE_ENTRYPOINT='["..."]' --build-arg BASE_CMD='["..."]' .
ARG BASE_IMAGE
FROM ${BASE_IMAGE} AS built
USER root
# the interpreter for moet-boot's own virtual environment; the server's Python is only looked at, never changed
ARG PYTHON=python3
COPY dockerfiles /build/dockerfiles
COPY moet_boot /build/moet_boot
COPY profiles /build/profiles
RUN PYTHON="${PYTHON}" sh /build/dockerfiles/install.sh /build /out

FROM ${BASE_IMAGE}
ARG BASE_IMAGE
ARG BASE_ENTRYPOINT=""
ARG BASE_CMD=""
ARG VERSION=""
COPY --from=built /out/ /
# one place to write, also for a read-only root and for any user
VOLUME /var/lib/moet-boot
ENV MOET_BOOT_PROFILE=spark \
    MOET_BOOT_BASE_ENTRYPOINT=${BASE_ENTRYPOINT} \
    MOET_BOOT_BASE_CMD=${BASE_CMD} \
    MOET_BOOT_STATE_DIR=/var/lib/moet-boot \
    MOET_BOOT_RUNTIME_DIR=/var/lib/moet-boot/run \
    MOET_BOOT_ENDPOINTS_PORT=0
LABEL org.opencontainers.image.title="moet-boot gb10" \
      org.opencontainers.image.description="Guarded boots of vLLM-Moet on a DGX Spark (GB10)" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.base.name="${BASE_IMAGE}" \
      io.moet-boot.target="gb10"
# a boot reads 150 GiB: within the start period a server that is not ready yet counts as starting
HEALTHCHECK --interval=30s --timeout=10s --start-period=30m --retries=3 \
    CMD ["/opt/moet-boot/bin/moet-boot", "entrypoint", "--health"]
# the base's user stays as it is
ENTRYPOINT ["/opt/moet-boot/bin/moet-boot", "entrypoint"]
