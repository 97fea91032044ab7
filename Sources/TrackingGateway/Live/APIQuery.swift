import HTTPTypes
import Hummingbird
import HummingbirdCore
package import TrackingCore
import TrackingHistory
import TrackingStore

/// The parameters of an API request, by their meaning.
struct APIQuery {
    private let parameters: QueryParameters
    private let now: UnixTime

    /// The most trackables that one request names.
    private static let maximumNamed = 1000

    /// Reads the query of a request. Of a repeated parameter that is not a list, the first value counts.
    ///
    /// - Parameter names: The parameters that the request takes, beside `token`.
    /// - Throws: `Problem` that names a parameter that is unknown or not percent-encoded UTF-8.
    init(_ request: Request, now: UnixTime, allowing names: [String]) throws(Problem) {
        try self.init(QueryParameters(of: request, allowing: names), now: now)
    }

    /// Wraps parameters that were already read.
    init(_ parameters: QueryParameters, now: UnixTime = UnixTime(0)) {
        self.parameters = parameters
        self.now = now
    }

    subscript(name: String) -> String? { self.parameters[name] }

    /// `from` and `to` (RFC 3339, or how long ago), or `last` (a span); all of time where none is given.
    func times() throws(Problem) -> TimeSpan {
        if self["from"] != nil, self["last"] != nil { throw Problem(.badRequest, "from and last exclude each other") }
        let times = try explained { () throws(TrackingError) in
            if let last = self["last"] { _ = try HistoryTime.span(last) }
            return TimeSpan(
                from: try (self["from"] ?? self["last"]).map { (text) throws(TrackingError) in try self.moment(text) },
                to: try self["to"].map { (text) throws(TrackingError) in try self.moment(text) })
        }
        if let from = times.from, let to = times.to, from >= to {
            throw Problem(.badRequest, "the time to begin with is not before the one to end with")
        }
        return times
    }

    /// A moment; a `+` that was not written as `%2B` came as it is, or as a blank.
    private func moment(_ text: String) throws(TrackingError) -> UnixTime {
        try HistoryTime.moment(text.replacing(" ", with: "+"), now: self.now)
    }

    /// `bbox`: `west,south,east,north`.
    func box() throws(Problem) -> GeoBox? {
        guard let text = self["bbox"] else { return nil }
        return try explained { () throws(TrackingError) in try GeoBox(parsing: text) }
    }

    /// The trackables in `trackables` (ids separated by commas) and `trackable` (one id, which may contain commas).
    /// Both can be repeated. `nil` if the query has neither.
    func trackables() throws -> Set<TrackableID>? {
        let lists = self.parameters.all("trackables")
        let single = self.parameters.all("trackable")
        guard !lists.isEmpty || !single.isEmpty else { return nil }
        let ids = lists.flatMap { $0.split(separator: ",").map { String($0) } } + single
        guard (1...Self.maximumNamed).contains(ids.count) else {
            throw Problem(.badRequest, "trackables names 1 to \(Self.maximumNamed) ids, separated by commas.")
        }
        return try Set(ids.map { try TrackableID($0) })
    }

    /// `after`: the last id of the page before.
    func after() throws(Problem) -> TrackableID? {
        guard let value = self["after"] else { return nil }
        guard let id = try? TrackableID(value) else {
            throw Problem(.badRequest, "after is what the page before gave as next, percent-encoded")
        }
        return id
    }

    /// `trip`: the id of a trip.
    var trip: String? { self["trip"] }

    /// A whole number in a range.
    func whole(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
        guard let text = self[name] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw Problem(.badRequest, "\(name) is \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}

/// Runs a closure and turns a `TrackingError` that it throws into a 400 problem with the same message.
func explained<Value>(_ body: () throws(TrackingError) -> Value) throws(Problem) -> Value {
    do throws(TrackingError) { return try body() } catch { throw Problem(.badRequest, error.message) }
}

extension GatewayRequestContext {
    /// The trackable that the path names, which the caller may read.
    ///
    /// - Throws: A problem if the request has no caller, the id is malformed, or the caller may not read it. The answer
    ///   does not reveal if the trackable exists.
    package func readableTrackable() throws(Problem) -> TrackableID {
        let caller = try self.requireCaller()
        guard let text = self.parameters.get("id").flatMap({ $0[...].percentDecoded }) else {
            throw Problem(.badRequest, "the trackable's id is percent-encoded UTF-8")
        }
        let id = try explained { () throws(TrackingError) in try TrackableID(text) }
        try caller.checkReads(id)
        return id
    }
}

extension Caller {
    /// - Throws: A problem where a trackable is not theirs to read.
    func checkReads(_ id: TrackableID) throws(Problem) {
        guard self.reads.contains(id) else { throw Problem(.forbidden, "This token may not read this trackable.") }
    }

    /// - Throws: A problem where they see the present alone, as with a share link.
    func checkReadsHistory() throws(Problem) {
        guard self.span == nil else { throw Problem(.forbidden, "A share link shows the live position alone.") }
    }
}
