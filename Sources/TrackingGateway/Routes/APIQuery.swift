import HTTPTypes
import Hummingbird
import HummingbirdCore
package import TrackingCore
import TrackingHistory
import TrackingStore

/// The parameters of a request. What is given and wrong is told; what is not known is passed over.
struct APIQuery {
    private let parameters: [String: String]
    private let raw: String?
    private let now: UnixTime

    /// Of a parameter that comes several times, the first counts.
    init(_ request: Request, now: UnixTime) {
        let pairs = request.uri.queryParameters.map { (String($0.key), String($0.value)) }
        self.parameters = Dictionary(pairs) { first, _ in first }
        self.raw = request.uri.query
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

    /// `trackables`: ids with commas between, as for the live stream.
    func trackables() throws -> Set<TrackableID>? {
        try self.undecoded("trackables").map { try LiveQuery.ids($0) }
    }

    /// `after`: the id that the page before ended with.
    func after() throws(Problem) -> TrackableID? {
        guard let value = self.undecoded("after") else { return nil }
        guard let id = value.percentDecoded.flatMap({ try? TrackableID($0) }) else {
            throw Problem(.badRequest, "after is what the page before gave as next, percent-encoded")
        }
        return id
    }

    /// `trip`: the id of a trip.
    func trip() throws(Problem) -> String? {
        guard let value = self.undecoded("trip") else { return nil }
        guard let text = value.percentDecoded else {
            throw Problem(.badRequest, "trip is the id of a trip, percent-encoded UTF-8")
        }
        return text
    }

    /// A parameter as it was sent: what is not percent-encoded as it should be is decoded to something else elsewhere.
    private func undecoded(_ name: String) -> Substring? {
        let member = self.raw?.split(separator: "&").first { $0 == name || $0.hasPrefix("\(name)=") }
        return member.map { $0.dropFirst(name.count + 1) }
    }

    /// A whole number in a range.
    func whole(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
        guard let text = self[name] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw Problem(.badRequest, "\(name) is \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}

/// What is wrong with what a caller gave, as a problem.
func explained<Value>(_ body: () throws(TrackingError) -> Value) throws(Problem) -> Value {
    do throws(TrackingError) { return try body() } catch { throw Problem(.badRequest, error.message) }
}

extension GatewayRequestContext {
    /// The trackable that the path names, which the caller may read.
    ///
    /// - Throws: A problem: nobody asks, no such id, or not theirs; whether there is such a trackable makes no difference.
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
