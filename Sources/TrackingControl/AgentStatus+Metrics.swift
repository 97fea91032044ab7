import TrackingCore

extension AgentStatus {
    /// The status in Prometheus' text format (0.0.4), without coordinates. Unknown values are omitted.
    public var metrics: String {
        var text = MetricsText()
        text.gauge("godwit_on", "Whether the agent samples and sends.", [([:], self.isOn ? 1 : 0)])
        text.gauge("godwit_connected", "Whether the broker is connected.", [([:], self.connection.isUp ? 1 : 0)])
        text.gauge(
            "godwit_queue_records", "Records that wait to be sent.",
            [
                (["kind": "point"], Double(self.queue.points)), (["kind": "trip"], Double(self.queue.trips)),
                (["kind": "event"], Double(self.queue.events)),
            ])
        text.gauge("godwit_queue_bytes", "Bytes that wait to be sent.", [([:], Double(self.queue.bytes))])
        text.gauge(
            "godwit_queue_oldest_timestamp_seconds", "Time of the oldest record that waits.",
            [([:], self.queue.oldest?.seconds)])
        text.counter("godwit_dropped_records_total", "Records that a limit has cost.", Double(self.dropped))
        text.gauge(
            "godwit_quarantined_records", "Records that were refused for good.", [([:], Double(self.quarantined))])
        text.gauge(
            "godwit_last_attempt_timestamp_seconds", "When something was last sent.", [([:], self.lastAttempt?.seconds)]
        )
        text.gauge(
            "godwit_last_acknowledged_timestamp_seconds", "When something was last acknowledged.",
            [([:], self.lastAcknowledged?.seconds)])
        self.addFix(&text)
        self.addTrackables(&text)
        return text.text
    }

    /// The largest number of bytes in a piece. As JSON, a piece fits into a line of the socket, whatever it contains.
    private static let pieceBytes = 16_384

    /// ``metrics`` in pieces of complete lines.
    var metricsInPieces: [String] {
        var pieces: [String] = []
        for line in self.metrics.split(separator: "\n") {
            let isFull = (pieces.last?.utf8.count ?? Self.pieceBytes) + line.utf8.count >= Self.pieceBytes
            if isFull { pieces.append("") }
            pieces[pieces.count - 1] += line + "\n"
        }
        return pieces
    }

    private func addFix(_ text: inout MetricsText) {
        text.gauge(
            "godwit_last_fix_timestamp_seconds", "Time of the last fix.", [([:], self.lastFix?.time.seconds)])
        text.gauge("godwit_last_fix_speed_meters_per_second", "Speed of the last fix.", [([:], self.lastFix?.speed)])
        text.gauge(
            "godwit_last_fix_accuracy_meters", "Horizontal accuracy of the last fix (68 %).",
            [([:], self.lastFix?.accuracyHorizontal)])
        text.gauge("godwit_battery_ratio", "Charge of the battery, 0 to 1.", [([:], self.battery)])
    }

    private func addTrackables(_ text: inout MetricsText) {
        text.gauge(
            "godwit_trackable_state", "1 for the state that the trackable is in.",
            self.trackables.flatMap { trackable in
                PublisherState.allCases.map {
                    (["trackable": trackable.id.rawValue, "state": $0.rawValue], trackable.state == $0 ? 1 : 0)
                }
            })
        func each(_ name: String, _ help: String, _ value: (Trackable) -> Double?) {
            text.gauge(name, help, self.trackables.map { (["trackable": $0.id.rawValue], value($0)) })
        }
        each("godwit_trackable_interval_seconds", "Desired interval of the resolution in force.") {
            $0.resolution?.resolution.desiredInterval.inSeconds
        }
        each("godwit_trackable_subscribers", "How many watch.") { $0.resolution.map { Double($0.subscribers) } }
        each("godwit_trackable_queue_points", "Points that wait to be sent.") { Double($0.queue.points) }
        each("godwit_trip_active", "Whether a trip is under way.") { $0.trip?.state == .active ? 1 : 0 }
        each("godwit_trip_distance_meters", "Way of the trip under way, or of the last one.") { $0.trip?.distance }
        each("godwit_trip_duration_seconds", "Time of the trip under way, or of the last one.") { $0.trip?.duration }
    }
}

/// Builds Prometheus' text format.
private struct MetricsText {
    private(set) var text = ""

    mutating func gauge(_ name: String, _ help: String, _ samples: [([String: String], Double?)]) {
        self.add(name, "gauge", help, samples)
    }

    mutating func counter(_ name: String, _ help: String, _ value: Double) {
        self.add(name, "counter", help, [([:], value)])
    }

    private mutating func add(
        _ name: String, _ type: String, _ help: String, _ samples: [([String: String], Double?)]
    ) {
        let known = samples.compactMap { labels, value in value.map { (labels, $0) } }
        guard !known.isEmpty else { return }
        self.text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
        for (labels, value) in known {
            let pairs = labels.sorted { $0.key < $1.key }.map { "\($0.key)=\"\(Self.escaped($0.value))\"" }
            let place = pairs.isEmpty ? name : "\(name){\(pairs.joined(separator: ","))}"
            self.text += "\(place) \(Self.number(value))\n"
        }
    }

    private static func number(_ value: Double) -> String {
        let text = value.description
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\"": escaped += "\\\""
            case "\n": escaped += "\\n"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
