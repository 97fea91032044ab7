import GodwitOptions
import TrackingCore
import TrackingSubscriber

/// The content of the live table that `godwit watch` shows on a terminal, as lines of text.
struct LiveTable {
    private struct Row {
        var state = SubscriberState.offline
        var location: Location?
        var isPredicted = false
        /// The match of the position with a road; `nil` for a position as its publisher published it.
        var enhancement: Enhancement?
        var resolution: ResolutionInForce?
        /// The estimated arrival times at the stops of the trackable's journey, without the way; `nil` when unknown.
        var estimate: Estimate?
        var trip: Trip?
        var hasNothingReceived = false
    }

    private var rows: [TrackableID: Row] = [:]
    /// The latest tracking events as text, the newest last.
    private var events: [String] = []
    private var connection = "connecting"
    /// The reasons with which the broker rejects subscriptions, by trackable. The key `nil` stands for the subscription
    /// to all trackables.
    private var refusals: [TrackableID?: TrackingError] = [:]
    private var badMessages = 0
    /// The resolution that this watcher requests from the publishers; `nil` if it requests none.
    var request: Resolution?
    /// The number of log lines that are held back while the table fills the terminal, and the newest of them. `nil` if
    /// there are none. They are written when the table ends.
    var logged: (count: Int, newest: String)?
    let hasColour: Bool
    /// `true` if the watcher is silent: publishers do not count it as a subscriber, and it requests no resolution.
    let isSilent: Bool
    /// The units in which the live table of `godwit watch` shows speeds and distances.
    let units: DisplayUnits
    /// The largest number of tracking events in the table. A terminal with few rows shows fewer.
    static let maximumEvents = 5
    /// The largest number of terminal lines that the table uses for the newest log line that is held back: 3.
    private static let maximumLogged = 3
    /// The seconds of a day, from which on an arrival has no time of day.
    private static let day = 86_400.0

    init(hasColour: Bool, isSilent: Bool = false, units: DisplayUnits = .metric) {
        self.hasColour = hasColour
        self.isSilent = isSilent
        self.units = units
    }

    /// Updates the live table of `godwit watch` with an event that the subscriber delivered.
    mutating func happened(_ event: SubscriberEvent) {
        switch event {
        case .location(let id, let received):
            guard !received.isLate else { return }
            self.rows[id, default: Row()].location = received.update.location
            self.rows[id, default: Row()].enhancement = received.update.enhancement
            self.rows[id, default: Row()].isPredicted = received.update.kind == .predicted
            self.rows[id, default: Row()].hasNothingReceived = false
        case .locationCleared(let id):
            self.rows[id, default: Row()].location = nil
            self.rows[id, default: Row()].enhancement = nil
        case .state(let id, let state, _): self.rows[id, default: Row()].state = state
        case .resolution(let id, let inForce): self.rows[id, default: Row()].resolution = inForce
        case .estimate(let id, var estimate):
            estimate?.route = []  // not shown, and long
            self.rows[id, default: Row()].estimate = estimate
        case .trip(let id, let trip): self.rows[id, default: Row()].trip = trip
        case .event(let id, let event):
            self.events.append("\(TimeText.local(event.time)) \(id) \(WatchPrinter.describe(event))".printable)
            self.events = self.events.suffix(Self.maximumEvents)
        case .silent(let id): self.rows[id, default: Row()].hasNothingReceived = true
        case .badMessage: self.badMessages += 1
        case .publishRefused(_, let error): self.connection = "not counted as a subscriber: \(error)"
        case .refused(let id, let error): self.refusals[id] = error
        case .presence(let id, let presence):
            guard presence.status != .unknown else { break }
            self.refusals[id] = nil
            self.refusals[nil] = nil
        case .connection(nil): self.connection = "connected"
        case .connection(let lost?):
            guard !lost.isRenewal else { break }
            self.connection = lost.reason.map { "not connected: \($0)" } ?? "closed"
            self.refusals = [:]
        case .publishedLocation, .raw, .tripRecorded, .journey, .positionsKept, .enhancedRefused: break
        }
    }

    private var standing: String {
        let refusal = self.refusals.min { $0.key?.rawValue ?? "" < $1.key?.rawValue ?? "" }?.value
        return refusal.map { "refused: \($0)" } ?? self.connection
    }

    /// Returns the lines of the table, cut to the size of the terminal. If not all trackables fit, a line shows the
    /// number of the trackables that are left out.
    ///
    /// - Parameter due: Returns the time until the next update of a trackable is expected.
    func lines(width: Int, height: Int, now: UnixTime, due: (TrackableID) -> Duration?) -> [String] {
        // Four lines are reserved: the heading, an empty line, the foot and the line of the cursor.
        let events = self.events.suffix(max(0, height - 4) / 4)
        let logged = self.logged(width: width).prefix(max(0, height - 4 - events.count) / 2)
        let room = max(1, height - 4 - events.count - logged.count)
        let fits = self.rows.count <= room ? room : room - 1
        let shown = self.rows.sorted { $0.key < $1.key }.prefix(fits).map { id, row in
            (state: row.state, cells: self.cells(id, row, now: now, due: due(id)))
        }
        let layout = LiveTableLayout(width: width, rows: shown.map(\.cells))
        var body = shown.map { self.colour($0.state, layout.line($0.cells)) }
        if self.rows.count > fits { body.append(Self.cut("… and \(self.rows.count - fits) more", to: width)) }
        return [layout.head] + body + [""] + events.map { Self.cut($0, to: width) } + logged + [self.foot(width: width)]
    }

    /// Returns the last line of the live table: the state of the connection, the resolution that the user requests, the
    /// keys, and the counts of invalid messages and of held log lines. On a narrow terminal, the parts that do not fit
    /// are left out.
    private func foot(width: Int) -> String {
        let asked =
            self.isSilent ? "silent" : self.request.map { "asking for \($0.argumentText)" } ?? "asking for nothing"
        let keys = self.isSilent ? "q quit" : "+ finer, - coarser, 0 nothing, q quit"
        let notes = [
            self.badMessages > 0 ? "\(counted(self.badMessages, "invalid message")) ignored" : nil,
            self.logged.map { "\(counted($0.count, "log line")), shown at the end" },
        ]
        return ([asked, keys] + notes.compactMap(\.self)).reduce(Self.cut(self.standing.printable, to: width)) {
            ($0 + "; " + $1).columns <= width ? $0 + "; " + $1 : $0
        }
    }

    /// Returns a text that is cut to the width of the terminal; `…` marks the cut.
    private static func cut(_ text: String, to width: Int) -> String {
        text.columns <= width ? text : String("\(text.prefix(columns: width - 1))…".prefix(columns: width))
    }

    /// Returns the newest log line that is held back, divided into terminal lines, at most three.
    private func logged(width: Int) -> [String] {
        guard let newest = self.logged?.newest, width > 0 else { return [] }
        var rest = newest.split(separator: "\n").joined(separator: " ").printable[...]
        var lines: [String] = []
        while !rest.isEmpty, lines.count < Self.maximumLogged {
            let line = rest.prefix(columns: width)
            lines.append(String(line))
            rest = rest[line.endIndex...].dropFirst(line.isEmpty ? 1 : 0)
        }
        return lines
    }

    private typealias Cell = LiveTableLayout.Cell

    private func cells(
        _ id: TrackableID, _ row: Row, now: UnixTime, due: Duration?
    ) -> [LiveTableLayout.Column: LiveTableLayout.Cell] {
        let missing = row.hasNothingReceived
        let point = row.location
        let trip = row.trip.flatMap { $0.state == .active ? $0 : nil }
        return [
            .trackable: Cell(text: id.rawValue.printable),
            .state: Cell(row.state.rawValue),
            .age: Cell(point.map { Self.span(now.since($0.time).inSeconds) } ?? (missing ? "never" : "")),
            .speed: Cell(point?.speed.map { self.units.speed($0) } ?? ""),
            .resolution: Cell(row.resolution?.resolution.argumentText ?? ""),
            .eta: Cell(row.estimate.map { Self.arrival($0, now: now) } ?? ""),
            .due: Cell(due.map { $0 < .zero ? "overdue" : Self.span($0.inSeconds) } ?? ""),
            .position: point.map { Cell((row.isPredicted ? "~" : "") + Self.place($0)) }
                ?? Cell(text: missing ? "nothing received" : ""),
            .road: Cell(text: row.enhancement.map(Self.road) ?? ""),
            .bearing: Cell(point?.bearing.map { "\($0.text(digits: 0))°" } ?? ""),
            .trip: trip.map(self.cell) ?? Cell(),
            .way: Cell(row.resolution?.approach.map { WatchPrinter.way($0, self.units) } ?? ""),
        ]
    }

    /// Returns the estimated arrival at the next stop: a time of day of this computer, the time until the arrival if it
    /// is more than a day ahead (`3 d`), and `arrived` after the last stop. Empty when the arrival is unknown.
    private static func arrival(_ estimate: Estimate, now: UnixTime) -> String {
        guard let stop = estimate.nextStop else { return "arrived" }
        guard let eta = stop.eta else { return "" }
        let seconds = eta.since(now).inSeconds
        return seconds < Self.day ? String(TimeText.local(eta).prefix(5)) : Self.span(seconds)
    }

    private static func road(_ enhancement: Enhancement) -> String {
        switch enhancement.confidence {
        case .matched: WatchPrinter.name(of: enhancement)
        case .presumed: "~\(WatchPrinter.name(of: enhancement))"
        case .offRoad: "off the road"
        }
    }

    private func cell(_ trip: Trip) -> Cell {
        Cell(
            "\(self.units.distance(Meters(trip.distance))) \(WatchPrinter.clock(trip.duration))",
            text: " \(trip.mode.printable)")
    }

    private static func place(_ point: Location) -> String {
        "\(point.coordinate.latitude.text(digits: 5)) \(point.coordinate.longitude.text(digits: 5))"
    }

    /// Returns a span of time as text, in the unit in which it is a short number: `7 s`, `12 min`, `3 h`, `365 d`.
    private static func span(_ seconds: Double) -> String {
        switch max(0, seconds) {
        case ..<100: "\(max(0, seconds).text(digits: 0)) s"
        case ..<6_000: "\((seconds / 60).text(digits: 0)) min"
        case ..<172_800: "\((seconds / 3_600).text(digits: 0)) h"
        default: "\((seconds / 86_400).text(digits: 0)) d"
        }
    }

    private func colour(_ state: SubscriberState, _ text: String) -> String {
        guard self.hasColour else { return text }
        let code =
            switch state {
            case .online: "32"
            case .stale: "33"
            case .offline: "90"
            case .failed: "31"
            }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }
}

extension Resolution {
    /// A finer resolution: half the interval and the next better class of accuracy. The interval is not reduced below
    /// 125 ms.
    var oneStepFiner: Resolution { self.step(intervalFactor: 0.5, accuracy: 1) }
    /// A coarser resolution: twice the interval and the next lower class of accuracy. The interval is not increased
    /// above one hour.
    var oneStepCoarser: Resolution { self.step(intervalFactor: 2, accuracy: -1) }

    private func step(intervalFactor: Double, accuracy change: Int) -> Resolution {
        let all = Accuracy.allCases
        let present = Double(self.desiredInterval.inMilliseconds)
        let stepped = min(max(present * intervalFactor, 125), 3_600_000)
        // An interval beyond the bounds remains as it is, so that a finer step never makes it longer.
        let milliseconds = intervalFactor < 1 ? min(present, stepped) : max(present, stepped)
        let changed = try? Resolution(
            accuracy: all[min(max(self.accuracy.rank + change, 0), all.count - 1)],
            desiredInterval: .milliseconds(Int64(milliseconds)), minimumDisplacement: self.minimumDisplacement)
        return changed ?? self
    }
}
