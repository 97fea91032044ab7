/// The publishers that are present on one trackable. The owner is the publisher with the greatest ``PublisherClaim``;
/// finding it takes constant time.
///
/// Adding and removing a publisher cost O(log n), so that many foreign publishers cannot slow down the program. A
/// removed publisher stays in the heap until it is the least entry, or until removed entries outnumber the present
/// publishers.
struct OwnerQueue: Sendable {
    private struct Name: Hashable, Sendable {
        let client: ClientID
        let session: SessionID
    }

    private struct Entry: Comparable, Sendable {
        let member: Member
        /// The number of the ``set(_:)`` call that made the entry. It distinguishes the entry of a present publisher
        /// from an entry that was removed or replaced.
        let order: UInt64

        static func == (left: Self, right: Self) -> Bool { left.order == right.order }
        /// Orders the greatest claim first, because the heap returns its least entry.
        static func < (left: Self, right: Self) -> Bool {
            left.member.presence.claim > right.member.presence.claim
        }
    }

    private var living: [Name: UInt64] = [:]
    private var heap = MinHeap<Entry>()
    private var settings: UInt64 = 0

    /// The owner; `nil` while no publisher is present.
    var owner: Member? { self.heap.min?.member }

    /// `true` while no publisher is present.
    var isEmpty: Bool { self.living.isEmpty }

    /// The number of entries in the heap, including removed and replaced ones; for tests of the maximum.
    var heapCount: Int { self.heap.count }

    /// Adds a publisher. If it is present already, replaces its presence.
    mutating func set(_ member: Member) {
        self.settings += 1
        self.living[Self.name(member)] = self.settings
        self.heap.push(Entry(member: member, order: self.settings))
        self.dropLeftovers()
    }

    /// Removes a publisher from those present. Has no effect when it is absent.
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
