import HTTPTypes
import Hummingbird
import HummingbirdCore
package import TrackingCore
import TrackingHistory
import TrackingStore

/// The query parameters of an API request, converted to their types.
struct APIQuery {
    private let parameters: QueryParameters
    private let now: UnixTime

    /// The largest number of trackables that the query of one API request may name: 1,000.
    private static let maximumNamed = 1000

    /// Reads the query of an API request.
    ///
    /// - Parameters:
    ///   - now: The present time, from which relative times are counted.
    ///   - names: The parameters that the route accepts in addition to `token`.
    /// - Throws: `Problem` (400) that names a parameter that is unknown, repeated or not percent-encoded UTF-8.
    init(_ request: Request, now: UnixTime, allowing names: [String]) throws(Problem) {
        try self.init(QueryParameters(of: request, allowing: names), now: now)
    }

    /// Creates the query of an API request from parameters that were already read from the request. Relative times,
    /// such as `10m`, are counted from `now`.
    init(_ parameters: QueryParameters, now: UnixTime = UnixTime(0)) {
        self.parameters = parameters
        self.now = now
    }

    subscript(name: String) -> String? { self.parameters[name] }

    /// Returns the time span of the parameters `from` and `to` (RFC 3339, or a time span before now), or `last` (a time
    /// span before now). Without these parameters the span is all of time.
    ///
    /// - Throws: `Problem` (400) for an invalid time, for `from` together with `last`, and for a beginning that is not
    ///   before the end.
    func times() throws(Problem) -> TimeSpan {
        if self["from"] != nil, self["last"] != nil {
            throw Problem(.badRequest, "The parameters 'from' and 'last' cannot be used together: use one of them.")
        }
        let times = try explained { () throws(TrackingError) in
            if let last = self["last"] { _ = try HistoryTime.span(last) }
            return TimeSpan(
                from: try (self["from"] ?? self["last"]).map { (text) throws(TrackingError) in try self.moment(text) },
                to: try self["to"].map { (text) throws(TrackingError) in try self.moment(text) })
        }
        if let from = times.from, let to = times.to, from >= to {
            throw Problem(
                .badRequest,
                "The beginning of the time span (parameter 'from' or 'last') must be before its end (parameter 'to').")
        }
        return times
    }

    /// Returns the time in a parameter's text. A space is read as `+`, because a `+` in a URL that is not written as
    /// `%2B` arrives as a space.
    private func moment(_ text: String) throws(TrackingError) -> UnixTime {
        try HistoryTime.moment(text.replacing(" ", with: "+"), now: self.now)
    }

    /// Returns the geographic area of the parameter `bbox`, `west,south,east,north` in degrees; `nil` without the
    /// parameter.
    func box() throws(Problem) -> GeoBox? {
        guard let text = self["bbox"] else { return nil }
        return try explained { () throws(TrackingError) in try GeoBox(parsing: text) }
    }

    /// Returns the trackables in the parameters `trackables` (ids separated by commas) and `trackable` (one id, which
    /// may contain commas). Both can be repeated. `nil` if the query has neither.
    ///
    /// - Throws: `Problem` (400) for too many ids; `TrackingError` for an invalid id.
    func trackables() throws -> Set<TrackableID>? {
        let lists = self.parameters.all("trackables")
        let single = self.parameters.all("trackable")
        guard !lists.isEmpty || !single.isEmpty else { return nil }
        let ids = lists.flatMap { $0.split(separator: ",").map { String($0) } } + single
        guard (1...Self.maximumNamed).contains(ids.count) else {
            throw Problem(
                .badRequest, "The parameter 'trackables' must have 1 to \(Self.maximumNamed) ids, separated by commas.")
        }
        return try Set(ids.map { try TrackableID($0) })
    }

    /// Returns the trackable in the parameter `after`, which is the last trackable on the previous page; `nil` without
    /// the parameter, for the first page.
    func after() throws(Problem) -> TrackableID? {
        guard let value = self["after"] else { return nil }
        guard let id = try? TrackableID(value) else {
            throw Problem(
                .badRequest, "The parameter 'after' must be the value of 'next' in the previous page, percent-encoded.")
        }
        return id
    }

    /// The id of a trip in the parameter `trip`; `nil` without the parameter.
    var trip: String? { self["trip"] }

    /// Returns the whole number of a parameter; `nil` if the request does not have it.
    ///
    /// - Throws: `Problem` (400) for any other text, or a number outside of `range`.
    func whole(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
        guard let text = self[name] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw Problem(
                .badRequest,
                "The parameter '\(name)' must be a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }
}

/// Runs a closure, and turns a `TrackingError` that it throws into a `Problem` (400) with the same message.
func explained<Value>(_ body: () throws(TrackingError) -> Value) throws(Problem) -> Value {
    do throws(TrackingError) { return try body() } catch { throw Problem(.badRequest, error.message) }
}

extension GatewayRequestContext {
    /// Returns the trackable in the request's path, if the caller may read it.
    ///
    /// - Throws: `Problem` if the request has no caller, the id is invalid, or the caller may not read the trackable.
    ///   The answer does not reveal if the trackable exists.
    package func readableTrackable() throws(Problem) -> TrackableID {
        let caller = try self.requireCaller()
        let id = try self.trackable()
        try caller.checkReads(id)
        return id
    }

    /// Returns the trackable in the request's path, if the caller may publish it.
    ///
    /// - Throws: `Problem` if the request has no caller, the id is invalid, or the caller may not publish the trackable.
    func publishableTrackable() throws(Problem) -> TrackableID {
        let caller = try self.requireCaller()
        let id = try self.trackable()
        guard caller.publishes.contains(id) else {
            throw Problem(
                .forbidden,
                "This token may not publish the trackable in the path. Create a token with: godwit token create --publish ID"
            )
        }
        return id
    }

    private func trackable() throws(Problem) -> TrackableID {
        guard let text = self.parameters.get("id").flatMap({ $0[...].percentDecoded }) else {
            throw Problem(.badRequest, "The id of the trackable in the path must be percent-encoded UTF-8.")
        }
        return try explained { () throws(TrackingError) in try TrackableID(text) }
    }
}

extension Caller {
    /// Checks that the caller may read a trackable.
    ///
    /// - Throws: `Problem` (403) if the caller may not.
    func checkReads(_ id: TrackableID) throws(Problem) {
        guard self.reads.contains(id) else { throw Problem(.forbidden, "This token may not read this trackable.") }
    }

    /// Checks that the caller may read the past, which a share link does not show.
    ///
    /// - Throws: `Problem` (403) if the caller uses a share link.
    func checkReadsHistory() throws(Problem) {
        guard self.span == nil else {
            throw Problem(
                .forbidden,
                "A share link does not give access to the history: it shows only the live position. Use a token.")
        }
    }
}
