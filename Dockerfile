# docker build --build-arg VERSION=v1.2.3 --build-arg REVISION=$(git rev-parse HEAD) -t flowgraph:v1.2.3 .
#
# The program is cross-compiled, so that no other architecture is emulated.
FROM --platform=$BUILDPLATFORM golang:1.26.8 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=""
# Without cgo the program needs nothing of the system that it runs on.
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags="-s -w -X main.version=$VERSION" -o /out/flowgraph . && mkdir /out/data

FROM scratch
ARG VERSION=""
ARG REVISION=""
LABEL org.opencontainers.image.title="flowgraph" \
      org.opencontainers.image.description="Turns a Kafka log of Milvus messages into immutable segments of binlogs in a bucket, exactly once." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/flowgraph /flowgraph
# A folder that the user below may write to, for demo, dev and record, and for
# the temporary file of verify. The worker writes no file.
COPY --from=build --chown=65532:65532 /out/data /data
ENV TMPDIR=/data
USER 65532:65532
WORKDIR /data
EXPOSE 9090
# A check of health is for who starts a worker to ask for, by /flowgraph health:
# most of the commands serve nothing.
ENTRYPOINT ["/flowgraph"]
CMD ["run"]
