import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingGateway
import TrackingRules

/// `godwit fence`: adds, lists and removes fences, the named areas that the gateway's rules refer to.
struct FenceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fence", abstract: "Add, list and remove fences: the areas that rules refer to.",
        discussion: """
            A gateway that runs with the same --state uses the change within a second.

            Example:
              godwit fence add depot --circle 52.66,-8.63 --radius 100
            """,
        subcommands: [Add.self, List.self, Remove.self])
}

extension FenceCommand {
    /// `godwit fence add NAME`: adds a fence, a circle or polygons, to the gateway's data. A fence of the same name is
    /// replaced.
    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add a fence: a circle, or polygons from GeoJSON.",
            discussion: """
                A fence of the same name is replaced. The rules that refer to it are then checked from the beginning.

                Example:
                  godwit fence add town --geojson town.geojson
                """)

        @Argument(help: "The name of the fence: 1 to 64 bytes.")
        var name: String

        @Option(
            parsing: .unconditional,
            help: ArgumentHelp("Make a circle around this centre; needs --radius.", valueName: "lat,lon"))
        var circle: Coordinate?

        @Option(help: ArgumentHelp("Give the circle this radius, 10 to 100000 metres.", valueName: "metres"))
        var radius: Double?

        @Option(
            help: ArgumentHelp(
                "Read the polygons from this GeoJSON file of at most 128 KB: a Polygon, a MultiPolygon, or Features of these; - for standard input.",
                valueName: "file"))
        var geojson: String?

        @OptionGroup var state: StateOptions
        @OptionGroup var file: FileOptions

        func validate() throws {
            guard (self.circle == nil) == (self.radius == nil), (self.circle == nil) != (self.geojson == nil) else {
                throw ValidationError(
                    "a fence needs either --circle LAT,LON with --radius METRES, or --geojson FILE. Give one of the two"
                )
            }
            if self.circle != nil { _ = try checked { () throws(TrackingError) in try self.fence() } }
        }

        func run() async throws {
            let fence = try self.fence()
            _ = try await self.state.useRules { try await $0.add(fence) }
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
                throw TrackingError(
                    .inputUnreadable, "cannot read the fence from '\(path)': \(error.message)")
            }
        }

        private static func bytes(of path: String) throws(TrackingError) -> [UInt8] {
            let input = try InputFile(path)
            var bytes: [UInt8] = []
            while let piece = try input.read() {
                bytes += piece
                // `JSONValue` rejects larger input with a message of its own.
                if bytes.count > WireLimits.maximumPayloadBytes { break }
            }
            return bytes
        }
    }

    /// `godwit fence list`: prints all fences in the gateway's data, as a table or as one JSON object a line.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the fences.",
            discussion: """
                Example:
                  godwit fence list
                """)

        @Option(help: ArgumentHelp("Print text, or json: one object a line.", valueName: "format"))
        var format = ListFormat.text

        @OptionGroup var state: StateOptions
        @OptionGroup var file: FileOptions

        func run() async throws {
            let fences = try await self.state.useRules { try await $0.fences() }
            switch self.format {
            case .text: try Output.print(Self.table(fences).text(limit: Terminal.tableWidth))
            case .json: for fence in fences { try Output.print(Self.json(fence)) }
            }
        }

        private static func json(_ fence: Fence) -> String {
            let members: [String: JSONValue] = ["name": .text(fence.name), "shape": fence.json]
            return String(decoding: JSONValue.object(members).json, as: UTF8.self) + "\n"
        }

        private static func table(_ fences: [Fence]) -> TextTable {
            var table = TextTable([.text("name", cutTo: 16), .value("shape", .left), .value("center", .left)])
            for fence in fences {
                switch fence.shape {
                case .circle(let center, let radius):
                    table.append([
                        fence.name, "circle of \(radius.value.text(digits: 0)) m", PositionCells.text(center),
                    ])
                case .polygons(let areas):
                    let corners = areas.joined().reduce(0) { $0 + $1.count - 1 }
                    let shape = "\(counted(areas.count, "area")) with \(counted(corners, "corner"))"
                    table.append([fence.name, shape, TextTable.none])
                }
            }
            return table
        }
    }

    /// `godwit fence remove NAME`: removes a fence that no rule refers to.
    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a fence that no rule refers to.",
            discussion: """
                Exit code 1: there is no fence of this name.

                Example:
                  godwit fence remove depot
                """)

        @Argument(help: "The name of the fence.")
        var name: String

        @OptionGroup var state: StateOptions
        @OptionGroup var file: FileOptions

        func run() async throws {
            guard try await self.state.useRules({ try await $0.removeFence(self.name) }) else {
                Program.complain(
                    "cannot remove fence '\(self.name.printable)': there is no fence of this name. List the fences with godwit fence list"
                )
                throw ExitCode(1)
            }
        }
    }
}
