import TrackingStore

/// The entries of a sink's queue that are being forwarded: those of the page that was read, and those that are left out
/// or sent once more because the sink rejected their points.
struct ForwardSelection: Hashable, Sendable {
    /// The entries that were read last.
    private(set) var page = ForwardPage(trackable: nil, entries: [], hasMore: false)
    /// The numbers of the entries that are removed next.
    private(set) var done: [Int64] = []
    /// The numbers of the entries whose points were in the last request.
    private(set) var sent: [Int64] = []
    /// The numbers of the entries that are left out, because the sink rejects their points.
    private(set) var leftOut: [Int64] = []
    /// The numbers of the entries that were left out, and whose points are sent once more.
    private var repeated: Set<Int64> = []

    /// `true` if an entry of the page has a point.
    var hasPoints: Bool { self.page.entries.contains { $0.location != nil } }

    /// Takes the next entries of the queue. Keeps only the first one if its point is sent once more, and otherwise only
    /// those before such an entry.
    ///
    /// - Returns: `true` if the page is an entry whose point is sent once more.
    mutating func read(_ page: ForwardPage) -> Bool {
        self.page = page
        guard page.trackable != nil else {
            (self.done, self.repeated) = ([], [])
            return false
        }
        let count = page.entries.prefix { !self.repeated.contains($0.number) }.count
        guard count < page.entries.count else { return false }
        let kept = max(1, count)
        self.page.hasMore = page.hasMore || kept < page.entries.count
        self.page.entries = Array(page.entries.prefix(kept))
        return count == 0
    }

    /// Marks the whole page for removal, without a request.
    mutating func skip() { self.done = self.page.entries.map(\.number) }

    /// Notes a request with this number of points of the page.
    mutating func sent(count: Int) {
        let points = self.page.entries.filter { $0.location != nil }.map(\.number)
        self.sent = Array(points.prefix(count))
        let unsent = Set(points.dropFirst(count))
        self.done = self.page.entries.map(\.number).filter { !unsent.contains($0) }
    }

    /// Notes the removal of ``done``.
    ///
    /// - Parameter repeatsLeftOut: `true` if the points that were left out are sent once more.
    mutating func removed(repeatsLeftOut: Bool) {
        self.repeated.subtract(self.done)
        if repeatsLeftOut { self.repeated.formUnion(self.leftOut) }
    }

    /// Notes that the entries in ``sent`` were quarantined.
    mutating func quarantined() { self.repeated.subtract(self.sent) }

    /// Follows the number of left-out points that the decision counts.
    ///
    /// - Parameters:
    ///   - count: The number after an event.
    ///   - before: The number before it.
    ///   - isRemoval: `true` if the event was a removal of entries.
    mutating func counted(leftOut count: Int, before: Int, isRemoval: Bool) {
        if count > before { self.leftOut += self.sent }
        // After a wait for a sink that rejects everything, no rejection counts any more.
        if count < before, !isRemoval { self.repeated = [] }
        if count == 0 { self.leftOut = [] }
    }
}
