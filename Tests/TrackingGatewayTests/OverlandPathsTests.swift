import Hummingbird
import Testing
import TrackingCore

@testable import TrackingGateway

@Suite struct OverlandPathsTests {
    @Test func eachPathIsThereOnceAsTheRouterSeesIt() throws {
        var paths = OverlandPaths()
        for path in [
            "/overland", "/overland/", "//overland", "/api/locations", "/api//locations/", "/api/v1/overland/batches",
        ] {
            try paths.add(path)
        }
        #expect(paths.all == ["/overland", "/api/locations", "/api/v1/overland/batches"])
        #expect(paths.contains("/overland/") && paths.contains("/api/locations") && !paths.contains("/api"))
    }

    @Test(arguments: [
        "", "/", "//", "overland", "/a b", "/{x}", "/:x", "/*", "/\(String(repeating: "a", count: 200))", "/points",
        "/owntracks/", "/nextbillion", "/skynet/asset", "/session", "/healthz", "/s/x", "/map", "/tiles/1/2/3",
        "/api/v1",
        "/api/v1/positions", "/api/v1/live", "/api/v1/quarantine",
    ])
    func anInvalidOrUsedPathIsRejected(_ path: String) {
        var paths = OverlandPaths()
        #expect(throws: TrackingError.self) { try paths.add(path) }
    }

    @Test func theGatewaysOwnPathsAreReserved() throws {
        let stage = try TestGateway()
        let gateway = try Gateway(configuration: stage.configuration)
        for route in gateway.router().routes {
            let path = route.path.description.prefix { $0 != "{" }
            var paths = OverlandPaths()
            #expect(throws: TrackingError.self, "\(path)") { try paths.add(String(path)) }
        }
    }
}
