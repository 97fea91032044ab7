import Foundation
import GRDB
import HTTPTypes
import Hummingbird
import NIOCore
import Testing
import TrackingCore

@testable import TrackingGateway

/// The files of the map page, and tiles.
@Suite struct PageRoutesTests {
    @Test(arguments: [("/", 40), ("/s/secret", 10)])
    func aPageLoadsNothingThatIsNotThere(address: String, atLeast count: Int) async throws {
        let gateway = try TestGateway()
        try await gateway.test { client in
            let page = try await client.execute(uri: address, method: .get)
            #expect(page.status == .ok && page.headers[.contentSecurityPolicy]?.contains("default-src 'self'") == true)
            var waiting = page.text.matches(of: #/(?:src|href)="(/[^"]+)"/#).map { String($0.1) }
            var seen: Set<String> = []
            while let path = waiting.popLast() {
                guard seen.insert(path).inserted else { continue }
                let file = try await client.execute(uri: path, method: .get)
                #expect(file.status == .ok, "\(path)")
                guard path.hasPrefix("/map/") else { continue }
                waiting += file.text.matches(of: #/from "\./([^"]+)"/#).map { "/map/\($0.1)" }
            }
            #expect(seen.count >= count, "\(seen)")
            for path in ["/map/nothing.js", "/leaflet/passwd", "/leaflet/..%2fpasswd", "/tiles/0/0/0"] {
                #expect(try await client.execute(uri: path, method: .get).status == .notFound, "\(path)")
            }
            #expect(try await client.execute(uri: "/map/config", method: .get).text == "{}")
        }
    }

    @Test func theOperatorsNameAndLogoAreServed() async throws {
        let svg = "<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"/>"
        let shown = try GatewayOperator(name: "Parcels", logo: Array(svg.utf8))
        let gateway = try TestGateway { $0.operatedBy = shown }
        try await gateway.test { client in
            let config = try await client.execute(uri: "/map/config", method: .get).json
            #expect(config?["operator"] == .object(["name": .text("Parcels"), "logo": .text("/map/logo")]))
            let logo = try await client.execute(uri: "/map/logo", method: .get)
            #expect(logo.text == svg && logo.headers[.contentType] == "image/svg+xml")
            // The scripts of an SVG file never run.
            #expect(logo.headers[.contentSecurityPolicy]?.hasSuffix("sandbox") == true)
        }
        let none = try TestGateway()
        try await none.test { client in
            let answer = try await client.execute(uri: "/map/logo", method: .get)
            #expect(answer.status == .notFound)
        }
    }

    @Test func anOperatorsNameOrLogoThatCannotBeShownIsRefused() throws {
        let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        #expect(try GatewayOperator(name: nil, logo: png).logo?.mediaType == "image/png")
        for (name, logo, option) in [
            ("", nil, "--operator-name"), (String(repeating: "x", count: 65), nil, "--operator-name"),
            ("a\u{202E}b", nil, "--operator-name"), (nil, Array("<html></html>".utf8), "--operator-logo"),
            (nil, [0xFF, 0xD8, 0xFF], "--operator-logo"),
            (nil, png + [UInt8](repeating: 0, count: GatewayOperator.maximumLogoBytes), "--operator-logo"),
        ] as [(String?, [UInt8]?, String)] {
            let error = #expect(throws: TrackingError.self) { try GatewayOperator(name: name, logo: logo) }
            #expect(error?.message.contains(option) == true)
        }
    }

    @Test func theAnswerWithoutLeafletNamesTheRemedy() async throws {
        let gateway = try TestGateway { $0.leaflet = "/nowhere" }
        try await gateway.test { client in
            let answer = try await client.execute(uri: "/leaflet/leaflet.js", method: .get)
            #expect(answer.status == .notFound && answer.text.contains("--leaflet"))
        }
    }

    @Test func aServerOfTilesIsTheOneOtherPlaceThatPicturesComeFrom() async throws {
        let url = try TileURL("https://{s}.tiles.example.org:8443/a/{z}/{x}/{y}.png")
        let gateway = try TestGateway { $0.tiles = .server(url) }
        try await gateway.test { client in
            let page = try await client.execute(uri: "/", method: .get).headers
            let policy = page[.contentSecurityPolicy] ?? ""
            #expect(policy.contains("img-src 'self' data: https://*.tiles.example.org:8443;"))
            // OpenStreetMap's server rejects requests without a referrer.
            #expect(page[.referrerPolicy] == "strict-origin")
            #expect(try await client.execute(uri: "/session", method: .get).headers[.referrerPolicy] == "no-referrer")
            #expect(
                try await client.execute(uri: "/map/config", method: .get).json?["tiles"]?["url"]?.text == url.template)
        }
    }

    @Test func openStreetMapIsNamed() async throws {
        for (host, isNamed) in [("tile.openstreetmap.org", true), ("notopenstreetmap.org", false)] {
            let url = try TileURL("https://\(host)/{z}/{x}/{y}{r}.png")
            let gateway = try TestGateway { $0.tiles = .server(url) }
            try await gateway.test { client in
                let config = try await client.execute(uri: "/map/config", method: .get).json?["tiles"]
                #expect(config?["attribution"]?.text?.contains("OpenStreetMap") ?? false == isNamed)
            }
        }
        let none = try TestGateway()
        try await none.test { client in
            let page = try await client.execute(uri: "/", method: .get)
            #expect(page.headers[.referrerPolicy] == "no-referrer")
        }
    }

    @Test(arguments: [
        "https://a/{z}/{x}/{y}?key={key}", "https://tile-{s}.a/{z}/{x}/{y}", "https://a.{s}.b/{z}/{x}/{y}",
        "https://a/{z}/{x}/{y}/{s}", "https://[::1]/{z}/{x}/{y}", "https://a:b/{z}/{x}/{y}", "https://a/{z}/{x}/{y}}",
        "https://{s}./{z}/{x}/{y}", "tiles.example.org/{z}/{x}/{y}", "https://example.org/{z}/{x}",
        "ftp://example.org/{z}/{x}/{y}",
        "https:///{z}/{x}/{y}",
        "https://a;script-src *//{z}/{x}/{y}", "https://a'/{z}/{x}/{y}",
    ])
    func anAddressOfTilesThatIsNoneIsRefused(_ text: String) {
        #expect(throws: TrackingError.self) { try TileURL(text) }
    }

    @Test func aFileOfTilesIsServedWithItsRowsFromTheSouth() async throws {
        let gateway = try TestGateway()
        let path = gateway.folder.appending(path: "map.mbtiles").path()
        let file = try DatabaseQueue(path: path)
        try await file.write { database in
            try database.execute(
                sql: """
                    CREATE TABLE metadata (name TEXT, value TEXT);
                    CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
                    INSERT INTO metadata VALUES ('format', 'jpg'), ('minzoom', '1'), ('maxzoom', '6'),
                        ('attribution', '<a href="https://x">© us</a><script>');
                    INSERT INTO tiles VALUES (1, 0, 1, x'0102');
                    """)
        }
        let served = try TestGateway { $0.tiles = .file(path: path) }
        try await served.test { client in
            let tile = try await client.execute(uri: "/tiles/1/0/0", method: .get)
            #expect(tile.status == .ok && tile.headers[.contentType] == "image/jpeg")
            #expect(Array(tile.body.readableBytesView) == [1, 2])
            #expect(try await client.execute(uri: "/tiles/1/0/1", method: .get).status == .noContent)
            for odd in ["/tiles/1/2/0", "/tiles/-1/0/0", "/tiles/99/0/0", "/tiles/1/0/x"] {
                #expect(try await client.execute(uri: odd, method: .get).status == .badRequest, "\(odd)")
            }
            let config = try await client.execute(uri: "/map/config", method: .get).json?["tiles"]
            #expect(config?["maxZoom"]?.count == 6 && config?["attribution"]?.text == "© us")
        }
        #expect(throws: TrackingError.self) { try TileFile(path: "/nowhere.mbtiles") }
        // A tile file may omit its zoom levels.
        try await file.write { database in
            try database.execute(
                sql: "DELETE FROM metadata WHERE name LIKE '%zoom'; INSERT INTO tiles VALUES (4, 0, 0, x'03')")
        }
        #expect(try TileFile(path: path).zooms == 1...4)
    }
}
