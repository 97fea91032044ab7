import GodwitOptions
import TrackingCore

/// The tables that `godwit journey show` and `godwit journey list` print.
enum JourneyTable {
    /// Returns a table with one row for each stop of a journey.
    static func stops(_ journey: Journey, _ estimate: Estimate?, now: UnixTime) -> TextTable {
        var table = TextTable([
            .value("stop"), .value("id", .left, omission: 3), .text("name", cutTo: 12),
            .value("place", .left, omission: 2), .value("planned", .left), .value("estimated", .left),
            .value("between", .left, omission: 1), .value("distance"),
            .value("status", .left),
        ])
        let arrivals = self.arrivals(estimate)
        for (index, stop) in journey.stops.enumerated() {
            let arrival = arrivals[stop.id]
            table.append([
                "\(index + 1)", stop.id, stop.name ?? TextTable.none, PositionCells.text(stop.location),
                self.clock(stop.planned, now: now), self.clock(arrival?.eta, now: now), self.band(arrival, now: now),
                self.distance(arrival?.distance), arrival?.status.rawValue ?? TextTable.none,
            ])
        }
        return table
    }

    /// Returns a table with one row for each trackable with a journey.
    static func journeys(_ found: [TrackableID: RetainedJourney], now: UnixTime) -> TextTable {
        var table = TextTable([
            .text("trackable", cutTo: 12), .value("stops"), .value("arrived"), .text("next", cutTo: 12),
            .value("planned", .left), .value("estimated", .left), .value("status", .left),
        ])
        for (id, entry) in found.sorted(by: { $0.key < $1.key }) {
            let stops = entry.journey?.stops ?? []
            let arrivals = self.arrivals(entry.estimate)
            let isArrived = { (stop: Journey.Stop) in arrivals[stop.id]?.status == .arrived }
            let next = stops.first { !isArrived($0) }
            let arrival = next.flatMap { arrivals[$0.id] }
            table.append([
                id.rawValue, "\(stops.count)", "\(stops.count(where: isArrived))",
                next.map { $0.name ?? PositionCells.text($0.location) } ?? TextTable.none,
                self.clock(next?.planned, now: now), self.clock(arrival?.eta, now: now),
                arrival?.status.rawValue ?? TextTable.none,
            ])
        }
        return table
    }

    private static func arrivals(_ estimate: Estimate?) -> [String: Estimate.Stop] {
        Dictionary((estimate?.stops ?? []).map { ($0.id, $0) }) { first, _ in first }
    }

    /// Returns a time of this day as `14:30`, and any other time with its date.
    static func clock(_ time: UnixTime?, now: UnixTime) -> String {
        guard let time else { return TextTable.none }
        let date = TimeText.localDate(time)
        let isToday = date.prefix(10) == TimeText.localDate(now).prefix(10)
        return String(isToday ? date.dropFirst(11).prefix(5) : date.prefix(16))
    }

    private static func band(_ arrival: Estimate.Stop?, now: UnixTime) -> String {
        guard let earliest = arrival?.earliest, let latest = arrival?.latest else { return TextTable.none }
        return "\(self.clock(earliest, now: now)) and \(self.clock(latest, now: now))"
    }

    private static func distance(_ distance: Meters?) -> String {
        guard let metres = distance?.value else { return TextTable.none }
        return metres < 1000 ? "\(metres.text(digits: 0)) m" : "\((metres / 1000).text(digits: 1)) km"
    }
}
