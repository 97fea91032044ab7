import CoreMetrics
import Testing
import TrackingMetrics

@Suite struct PrometheusRegistryTests {
    private func lines(_ registry: PrometheusRegistry) -> [String] {
        registry.text().split(separator: "\n").map(String.init)
    }

    @Test func countersAndGauges() {
        let registry = PrometheusRegistry(helps: ["points_total": "Points that came."])
        Counter(label: "points_total", dimensions: [("kind", "live")], factory: registry).increment(by: 3)
        Counter(label: "points_total", dimensions: [("kind", "live")], factory: registry).increment()
        Counter(label: "points_total", dimensions: [("kind", "a\"b\\c\nd")], factory: registry).increment()
        Meter(label: "clients", factory: registry).set(7)
        Gauge(label: "lag.seconds", factory: registry).record(0.25)
        #expect(
            self.lines(registry) == [
                "# TYPE clients gauge", "clients 7", "# TYPE lag_seconds gauge", "lag_seconds 0.25",
                "# HELP points_total Points that came.", "# TYPE points_total counter",
                #"points_total{kind="a\"b\\c\nd"} 1"#, #"points_total{kind="live"} 4"#,
                "# TYPE godwit_metrics_left_out_total counter", "godwit_metrics_left_out_total 0",
            ])
    }

    @Test func aTimerIsAHistogramOfSeconds() {
        let registry = PrometheusRegistry()
        let timer = Timer(label: "wait_seconds", dimensions: [("route", "/x")], factory: registry)
        for milliseconds in [0.4, 1, 3, 70_000] { timer.recordNanoseconds(Int64(milliseconds * 1e6)) }
        let lines = self.lines(registry)
        #expect(lines.contains(#"wait_seconds_bucket{route="/x",le="0.0005"} 1"#))
        #expect(lines.contains(#"wait_seconds_bucket{route="/x",le="0.005"} 3"#))
        #expect(lines.contains(#"wait_seconds_bucket{route="/x",le="60"} 3"#))
        #expect(lines.contains(#"wait_seconds_bucket{route="/x",le="+Inf"} 4"#))
        #expect(lines.contains(#"wait_seconds_count{route="/x"} 4"#))
    }

    @Test func setsOfLabelsAreBounded() {
        let registry = PrometheusRegistry()
        for number in 0..<(PrometheusRegistry.maximumSeries + 10) {
            Counter(label: "many", dimensions: [("id", "\(number)")], factory: registry).increment()
        }
        let lines = self.lines(registry)
        #expect(lines.count { $0.hasPrefix("many{") } == PrometheusRegistry.maximumSeries)
        #expect(lines.last == "godwit_metrics_left_out_total 10")
    }

    @Test func aNameOfAnotherKindDisturbsNothing() {
        let registry = PrometheusRegistry()
        Counter(label: "9 lives", factory: registry).increment()
        Meter(label: "9 lives", factory: registry).set(5)
        #expect(self.lines(registry).contains("_9_lives 1"))
    }
}
