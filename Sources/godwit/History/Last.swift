import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingHistory
import TrackingStore

/// `godwit last`: shows the last positions of trackables.
struct Last: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the last positions of trackables.",
        discussion: """
            Without ids, all trackables are shown; with --near, those around a place, the nearest first. Exit code 1: \
            no position is stored of a named trackable.
            """)

    @Argument(help: "The ids of the trackables. Default: all.", transform: TrackableID.checked)
    var ids: [TrackableID] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Show only positions near this place; needs --within.", valueName: "lat,lon"))
    var near: String?

    @Option(help: ArgumentHelp("Show only positions within this distance of --near.", valueName: "metres"))
    var within: String?

    @Option(help: ArgumentHelp("Print text, or json: one GeoJSON Feature a line.", valueName: "format"))
    var format = ListFormat.text

    @OptionGroup var store: StoreOptions
    @OptionGroup var file: FileOptions

    func validate() throws { _ = try self.surroundings() }

    func run() async throws {
        let surroundings = try self.surroundings()
        let positions = try await self.store.use { store in
            try await store.lastPositions(of: self.ids.isEmpty ? nil : self.ids)
        }
        let file = try OutputFile(nil)
        for position in surroundings.map({ positions.near($0.center, within: $0.radius) }) ?? positions {
            try file.write(Array(self.line(position, from: surroundings?.center).utf8))
        }
        try file.finish()
        let unknown = Set(self.ids).subtracting(positions.map(\.trackable))
        for id in unknown.sorted() {
            Program.complain(
                "no position of \(id.rawValue.printable) is stored in the history. godwit trackables lists the stored trackables"
            )
        }
        if !unknown.isEmpty { throw ExitCode(1) }
    }

    private func surroundings() throws -> Surroundings? {
        guard (self.near == nil) == (self.within == nil) else {
            throw ValidationError("--near LAT,LON and --within METRES must be given together")
        }
        guard let near = self.near, let within = self.within else { return nil }
        return try checked { () throws(TrackingError) in try Surroundings(near: near, within: within) }
    }

    private func line(_ position: LastPosition, from center: Coordinate?) -> String {
        let (id, point) = (position.trackable.rawValue, position.location)
        switch self.format {
        case .text:
            var writer = HistoryWriter(.text, of: position.trackable)
            let text = String(decoding: writer.append(point).dropLast(), as: UTF8.self)
            let distance = center.map { " (\(point.coordinate.distance(to: $0).value.text(digits: 0)) m away)" } ?? ""
            return "\(id.printable) \(text)\(distance)\n"
        case .json:
            let feature = String(decoding: LocationCodec.encodeFeature(point), as: UTF8.self).dropFirst()
            return "{\"id\":\(WatchPrinter.quoted(id)),\(feature)\n".printableJSON
        }
    }
}
