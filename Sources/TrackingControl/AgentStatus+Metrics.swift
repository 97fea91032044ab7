import TrackingCore

extension AgentStatus {
    /// The agent's status as metrics in Prometheus' text format (0.0.4). It contains no coordinates. Metrics with an
    /// unknown value are omitted.
    public var metrics: String {
        var text = MetricsText()
        text.gauge(
            "godwit_on", "1 while the agent samples and sends, 0 while it is switched off.", [([:], self.isOn ? 1 : 0)])
        text.gauge(
            "godwit_connected", "1 while the agent is connected to the broker, otherwise 0.",
            [([:], self.connection.isUp ? 1 : 0)])
        text.gauge(
            "godwit_queue_records", "Records in the log that are not acknowledged yet, by kind.",
            [
                (["kind": "point"], Double(self.queue.points)), (["kind": "trip"], Double(self.queue.trips)),
                (["kind": "event"], Double(self.queue.events)),
            ])
        text.gauge(
            "godwit_queue_bytes", "Bytes of the records in the log that are not acknowledged yet.",
            [([:], Double(self.queue.bytes))])
        text.gauge(
            "godwit_queue_oldest_timestamp_seconds", "Unix time of the oldest record that is not acknowledged yet.",
            [([:], self.queue.oldest?.seconds)])
        text.counter(
            "godwit_dropped_records_total",
            "Records that the log dropped because of a limit, over the life of the log.", Double(self.dropped))
        text.counter(
            "godwit_unwritten_records_total",
            "Records that could not be written to the log, as on a full disk, since the agent started.",
            Double(self.unwritten))
        text.gauge(
            "godwit_quarantined_records", "Quarantined records: those that were rejected for good.",
            [([:], Double(self.quarantined))])
        text.gauge(
            "godwit_last_attempt_timestamp_seconds", "Unix time at which a batch or a position was last sent.",
            [([:], self.lastAttempt?.seconds)]
        )
        text.gauge(
            "godwit_last_acknowledged_timestamp_seconds",
            "Unix time at which a batch or a position was last acknowledged.",
            [([:], self.lastAcknowledged?.seconds)])
        self.addFix(&text)
        self.addTrackables(&text)
        return text.text
    }

    /// The largest number of bytes of metrics text in one piece. A piece of this size always fits into a line of the
    /// control socket, even when JSON escapes every character.
    private static let pieceBytes = 16_384

    /// The metrics text, divided into pieces for the control socket. Each piece consists of complete lines.
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
            "godwit_last_fix_timestamp_seconds", "Unix time of the last fix that was accepted.",
            [([:], self.lastFix?.time.seconds)])
        text.gauge("godwit_last_fix_speed_meters_per_second", "Speed of the last fix.", [([:], self.lastFix?.speed)])
        text.gauge(
            "godwit_last_fix_accuracy_meters", "Horizontal accuracy of the last fix (68 %).",
            [([:], self.lastFix?.accuracyHorizontal)])
        text.gauge("godwit_battery_ratio", "Charge of the battery, 0 to 1.", [([:], self.battery)])
    }

    private func addTrackables(_ text: inout MetricsText) {
        text.gauge(
            "godwit_trackable_state", "1 for the present state of the trackable, 0 for its other states.",
            self.trackables.flatMap { trackable in
                PublisherState.allCases.map {
                    (["trackable": trackable.id.rawValue, "state": $0.rawValue], trackable.state == $0 ? 1 : 0)
                }
            })
        func each(_ name: String, _ help: String, _ value: (Trackable) -> Double?) {
            text.gauge(name, help, self.trackables.map { (["trackable": $0.id.rawValue], value($0)) })
        }
        each(
            "godwit_trackable_interval_seconds",
            "Desired interval between positions of the trackable's resolution in force."
        ) {
            $0.resolution?.resolution.desiredInterval.inSeconds
        }
        each("godwit_trackable_subscribers", "Subscribers of the trackable.") {
            $0.resolution.map { Double($0.subscribers) }
        }
        each("godwit_trackable_queue_points", "Points of the trackable that are not acknowledged yet.") {
            Double($0.queue.points)
        }
        each("godwit_trip_active", "1 while a trip of the trackable is under way, otherwise 0.") {
            $0.trip?.state == .active ? 1 : 0
        }
        each("godwit_trip_distance_meters", "Distance of the trip under way, or of the last one.") { $0.trip?.distance }
        each("godwit_trip_duration_seconds", "Duration of the trip under way, or of the last one.") {
            $0.trip?.duration
        }
    }
}

/// Builds a text of metrics in Prometheus' text format. Values that are `nil` are omitted.
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
