import TrackingCore

/// The columns of exported CSV, in order. Columns that `godwit watch --format csv` also writes have the same names
/// there.
enum CSVColumn: String, CaseIterable, Sendable {
    case trackable, time, latitude, longitude, altitude, accuracy, speed, bearing, battery, stream, seq
    case accuracyVertical, accuracyBearing, accuracySpeed, floor, mode, motion, tripId, source, extra

    /// Returns the value of a point in this column as a CSV field; empty when the value is unknown.
    func field(_ point: Location, of trackable: TrackableID) -> String {
        let text = self.text(point, of: trackable)
        switch self {
        case .trackable, .stream, .mode, .motion, .tripId, .source: return CSVField.text(text)
        case .extra: return CSVField.json(text)
        case .time, .latitude, .longitude, .altitude, .accuracy, .speed, .bearing, .battery, .seq, .accuracyVertical,
            .accuracyBearing, .accuracySpeed, .floor:
            return CSVField.value(text)
        }
    }

    private func text(_ point: Location, of trackable: TrackableID) -> String {
        switch self {
        case .trackable: trackable.rawValue
        case .time: ISO8601.text(point.time)
        case .latitude: point.coordinate.latitude.decimal ?? ""
        case .longitude: point.coordinate.longitude.decimal ?? ""
        case .altitude: point.altitude?.decimal ?? ""
        case .accuracy: point.accuracyHorizontal?.decimal ?? ""
        case .speed: point.speed?.decimal ?? ""
        case .bearing: point.bearing?.decimal ?? ""
        case .battery: point.batteryLevel?.decimal ?? ""
        case .stream: point.stream?.rawValue ?? ""
        case .seq: point.seq.map { String($0) } ?? ""
        case .accuracyVertical: point.accuracyVertical?.decimal ?? ""
        case .accuracyBearing: point.accuracyBearing?.decimal ?? ""
        case .accuracySpeed: point.accuracySpeed?.decimal ?? ""
        case .floor: point.floor.map { String($0) } ?? ""
        case .mode: point.mode?.rawValue ?? ""
        case .motion: point.motion.map(\.rawValue).joined(separator: " ")
        case .tripId: point.tripID ?? ""
        case .source: point.source?.rawValue ?? ""
        case .extra: point.extra.map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
    }
}
