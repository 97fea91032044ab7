public import ArgumentParser
import GodwitOptions
import TrackingCore
public import TrackingHistory
import TrackingStore

/// From when to when.
struct SpanOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "From this time on: RFC 3339 (2026-05-04T09:30:00Z), now, or how long ago (90s, 10m, 2h, 3d, 1h30m).",
            valueName: "time"))
    var from: String?

    @Option(help: ArgumentHelp("Up to this time, which does not belong to it; in the same form.", valueName: "time"))
    var to: String?

    @Option(help: ArgumentHelp("The last 2h, 3d …, in place of --from.", valueName: "span"))
    var last: String?

    func validate() throws {
        if self.from != nil, self.last != nil { throw ValidationError("--from and --last exclude each other") }
        _ = try self.times(now: TimeText.now)
    }

    /// The span; relative times are before `now`.
    ///
    /// - Throws: `ValidationError` that says what is wrong.
    func times(now: UnixTime) throws -> TimeSpan {
        let times = try checked { () throws(TrackingError) in
            TimeSpan(
                from: try (self.from ?? self.last).map { (text) throws(TrackingError) in
                    if self.last != nil { _ = try HistoryTime.span(text) }
                    return try HistoryTime.moment(text, now: now)
                }, to: try self.to.map { (text) throws(TrackingError) in try HistoryTime.moment(text, now: now) })
        }
        if let from = times.from, let to = times.to, from >= to {
            throw ValidationError("the time to begin with is not before the one to end with")
        }
        return times
    }
}

extension TrackableID {
    /// The id that an argument gives.
    ///
    /// - Throws: `ValidationError` that says which rule is broken.
    static func checked(_ text: String) throws -> TrackableID {
        try godwit.checked { () throws(TrackingError) in try TrackableID(text) }
    }
}

extension GeoBox {
    /// Reads `WEST,SOUTH,EAST,NORTH`.
    ///
    /// - Throws: `ValidationError` that says what is wrong.
    static func checked(_ text: String) throws -> GeoBox {
        try godwit.checked { () throws(TrackingError) in try GeoBox(parsing: text) }
    }
}

extension HistoryFormat: ExpressibleByArgument {}

/// Makes a value of what was given on the command line.
///
/// - Throws: `ValidationError` with what is wrong.
func checked<Value>(_ body: () throws(TrackingError) -> Value) throws -> Value {
    do throws(TrackingError) { return try body() } catch { throw ValidationError(error.message) }
}

/// Whether the store has no point, trip or event of a trackable: it never had one, or all were erased.
func isNothingStored(of id: TrackableID, in store: any HistoryStore) async throws -> Bool {
    guard try await store.points(PointQuery(id), after: nil, limit: 1).points.isEmpty,
        try await store.trips(of: id, during: .all, after: nil, limit: 1).isEmpty
    else { return false }
    return try await store.events(of: id, during: .all, after: nil, limit: 1).isEmpty
}

/// Ends a command because the store has nothing of a trackable.
///
/// - Throws: Exit code 1.
func nothingIsStored(of id: TrackableID) throws -> Never {
    Program.complain("nothing is stored of \(id.rawValue.printable)")
    throw ExitCode(1)
}

/// How `last`, `trackables`, `trips` and `verify` print.
enum ListFormat: String, ExpressibleByArgument, CaseIterable {
    /// For people.
    case text
    /// A JSON object a line.
    case json
}
