/// The publishers present on one trackable. The owner, the publisher with the greatest ``PublisherClaim``, is found at
/// once.
///
/// Adding and removing cost O(log n), so that many strangers cannot slow down a member. A removed publisher stays in
/// the heap until it is the least entry, or until such leftovers outnumber the publishers that are present.
struct OwnerQueue: Sendable {
    private struct Name: Hashable, Sendable {
        let client: ClientID
        let session: SessionID
    }

    private struct Entry: Comparable, Sendable {
        let member: Member
        /// The number of the setting, which distinguishes a present publisher from a leftover.
        let order: UInt64

        static func == (left: Self, right: Self) -> Bool { left.order == right.order }
        /// Orders the greatest claim first, because the heap gives its least entry.
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

    /// The number of entries in the heap, leftovers included; for tests of the bound.
    var heapCount: Int { self.heap.count }

    /// Adds a publisher, or replaces the facts of one that is present.
    mutating func set(_ member: Member) {
        self.settings += 1
        self.living[Self.name(member)] = self.settings
        self.heap.push(Entry(member: member, order: self.settings))
        self.dropLeftovers()
    }

    /// Removes a publisher.
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
