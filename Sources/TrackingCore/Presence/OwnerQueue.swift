/// The publishers present on one trackable, with the one that owns it at hand: the one with the latest `since`; a tie goes to
/// the greater session.
///
/// Coming and going cost O(log n), so that strangers cannot slow anybody down by being many. One that is gone stays in the
/// heap until it comes up, or until such leftovers outnumber the living.
struct OwnerQueue: Sendable {
    private struct Name: Hashable, Sendable {
        let client: ClientID
        let session: SessionID
    }

    private struct Entry: Comparable, Sendable {
        let member: Member
        /// Counts what was set: tells a living entry from a leftover.
        let order: UInt64

        static func == (left: Self, right: Self) -> Bool { left.order == right.order }
        /// The least of the heap is the owner.
        static func < (left: Self, right: Self) -> Bool {
            let (mine, theirs) = (left.member.presence, right.member.presence)
            return (mine.since, mine.session) > (theirs.since, theirs.session)
        }
    }

    private var living: [Name: UInt64] = [:]
    private var heap = MinHeap<Entry>()
    private var settings: UInt64 = 0

    /// The owner; `nil` when nobody is present.
    var owner: Member? { self.heap.min?.member }

    /// Whether nobody is present.
    var isEmpty: Bool { self.living.isEmpty }

    /// How many entries the heap holds, leftovers included; for tests of the bound.
    var heapCount: Int { self.heap.count }

    /// This one is present, and this is what it says of itself now.
    mutating func set(_ member: Member) {
        self.settings += 1
        self.living[Self.name(member)] = self.settings
        self.heap.push(Entry(member: member, order: self.settings))
        self.dropLeftovers()
    }

    /// This one is gone.
    mutating func remove(_ member: Member) {
        self.living[Self.name(member)] = nil
        self.dropLeftovers()
    }

    private static func name(_ member: Member) -> Name {
        Name(client: member.client, session: member.presence.session)
    }

    private func isLiving(_ entry: Entry) -> Bool { self.living[Self.name(entry.member)] == entry.order }

    private mutating func dropLeftovers() {
        if self.heap.count > 2 * self.living.count + 16 {
            var kept: [Entry] = []
            while let entry = self.heap.popMin() { if self.isLiving(entry) { kept.append(entry) } }
            self.heap = MinHeap(kept)
        }
        while let entry = self.heap.min, !self.isLiving(entry) { _ = self.heap.popMin() }
    }
}
