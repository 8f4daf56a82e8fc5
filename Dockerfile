# syntax=docker/dockerfile:1
# Builds the image from source. deploy/Dockerfile.release makes the same image
# from binaries that were built before.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=devel
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/sluice ./cmd/sluice \
 && mkdir -p /out/data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/sluice /sluice
COPY --from=build --chown=65532:65532 /out/data /data
USER 65532:65532
ENV SLUICE_DATA_DIR=/data
VOLUME /data
EXPOSE 7300 7301
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["/sluice", "doctor", "--live"]
ENTRYPOINT ["/sluice"]
CMD ["serve", "--data", "/data", "--listen", "0.0.0.0:7300", "--behind-proxy", "private"]
