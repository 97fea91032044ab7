import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingGateway

/// `godwit fence`: the areas that rules speak of.
struct FenceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fence", abstract: "Add, list and remove the areas that rules speak of.",
        discussion: "A gateway that runs on the same folder takes note within a second.",
        subcommands: [Add.self, List.self, Remove.self])
}

extension FenceCommand {
    /// `godwit fence add NAME`.
    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add a fence: a circle, or polygons from GeoJSON.",
            discussion: "One of the same name is replaced; rules that speak of it begin anew.")

        @Argument(help: "Its name: 1 to 64 bytes.")
        var name: String

        @Option(
            parsing: .unconditional,
            help: ArgumentHelp("The centre of a circle; needs --radius.", valueName: "lat,lon"))
        var circle: Coordinate?

        @Option(help: ArgumentHelp("The circle's radius, 10 to 100000 metres.", valueName: "metres"))
        var radius: Double?

        @Option(
            help: ArgumentHelp(
                "GeoJSON of a Polygon, a MultiPolygon, or Features of these; at most 128 KB. - is standard input.",
                valueName: "file"))
        var geojson: String?

        @OptionGroup var state: StateOptions
        @OptionGroup var file: FileOptions

        func validate() throws {
            guard (self.circle == nil) == (self.radius == nil), (self.circle == nil) != (self.geojson == nil) else {
                throw ValidationError("a fence is --circle LAT,LON with --radius METRES, or --geojson FILE")
            }
            if self.circle != nil { _ = try checked { () throws(TrackingError) in try self.fence() } }
        }

        func run() async throws {
            let fence = try self.fence()
            try await self.state.useRules { try await $0.add(fence) }
        }

        private func fence() throws(TrackingError) -> Fence {
            if let center = self.circle, let radius = self.radius {
                return try Fence(name: self.name, shape: .circle(center: center, radius: Meters(radius)))
            }
            return try Fence(name: self.name, json: try Self.json(of: self.geojson ?? "-"))
        }

        private static func json(of path: String) throws(TrackingError) -> JSONValue {
            let bytes = try self.bytes(of: path)
            do throws(TrackingError) {
                return try JSONValue(json: bytes)
            } catch {
                throw TrackingError(.inputUnreadable, "'\(path)' is no GeoJSON: \(error.message)")
            }
        }

        private static func bytes(of path: String) throws(TrackingError) -> [UInt8] {
            let input = try InputFile(path)
            var bytes: [UInt8] = []
            while let piece = try input.read() {
                bytes += piece
                // The reader refuses what is larger, and says so.
                if bytes.count > WireLimits.maximumPayloadBytes { break }
            }
            return bytes
        }
    }

    /// `godwit fence list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the fences.")

        @Option(help: ArgumentHelp("text, or json: an object a line.", valueName: "format"))
        var format = ListFormat.text

        @OptionGroup var state: StateOptions
        @OptionGroup var file: FileOptions

        func run() async throws {
            for fence in try await self.state.useRules({ try await $0.fences() }) {
                try Output.print(self.line(fence))
            }
        }

        private func line(_ fence: Fence) -> String {
            switch (self.format, fence.shape) {
            case (.json, _):
                let members: [String: JSONValue] = ["name": .text(fence.name), "shape": fence.json]
                return String(decoding: JSONValue.object(members).json, as: UTF8.self) + "\n"
            case (.text, .circle(let center, let radius)):
                return "\(fence.name.printable)  \(radius.value.text(digits: 0)) m around "
                    + "\(center.latitude.text(digits: 6)),\(center.longitude.text(digits: 6))\n"
            case (.text, .polygons(let areas)):
                let corners = areas.joined().reduce(0) { $0 + $1.count - 1 }
                return "\(fence.name.printable)  \(counted(areas.count, "area")) with \(counted(corners, "corner"))\n"
            }
        }
    }

    /// `godwit fence remove NAME`.
    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a fence that no rule needs.", discussion: "Exit code 1 where there is none of this name.")

        @Argument(help: "Its name.")
        var name: String

        @OptionGroup var state: StateOptions
        @OptionGroup var file: FileOptions

        func run() async throws {
            guard try await self.state.useRules({ try await $0.removeFence(self.name) }) else {
                Program.complain("there is no fence '\(self.name.printable)'")
                throw ExitCode(1)
            }
        }
    }
}
