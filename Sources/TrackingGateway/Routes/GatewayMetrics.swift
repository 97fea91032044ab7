/// What the figures of a gateway mean.
package enum GatewayMetrics {
    /// By name, for `# HELP`.
    package static let helps = [
        "godwit_http_requests_total": "Requests that were answered, by the route's pattern, method and status.",
        "godwit_http_request_seconds": "How long it took until an answer began, by the route's pattern.",
    ]
}
