import Glibc
import Logging
import NIOCore
import NIOEmbedded
import Testing
import TrackingRuntime

@testable import TrackingGateway

@Suite struct ConnectionGateTests {
    private static func child(of address: String) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        channel.remoteAddress = try SocketAddress(ipAddress: address, port: 4711)
        return channel
    }

    @Test func oneAddressHasNoMoreThanItsShare() throws {
        let listener = EmbeddedChannel(handler: ConnectionGate(peerLimit: 2, logger: Logger(label: "test")))
        func arrives(_ child: EmbeddedChannel) throws -> Bool {
            try listener.writeInbound(child as any Channel)
            return try listener.readInbound(as: (any Channel).self) != nil
        }
        let mine = try (0..<3).map { _ in try Self.child(of: "192.0.2.7") }
        #expect(try mine.map { try arrives($0) } == [true, true, false])
        #expect(mine.map(\.closeFuture.isFulfilled) == [false, false, true])
        #expect(try arrives(Self.child(of: "192.0.2.8")), "another address")
        mine[0].close(promise: nil)
        mine[0].embeddedEventLoop.run()
        listener.embeddedEventLoop.run()
        #expect(try arrives(Self.child(of: "192.0.2.7")))
        #expect(try !arrives(Self.child(of: "192.0.2.7")))
    }

    /// An error that is passed on would end the server, and a readable socket would be read again and again.
    @Test func withoutDescriptorsAcceptingPauses() throws {
        let listener = EmbeddedChannel(handler: ConnectionGate(peerLimit: nil, logger: Logger(label: "test")))
        func reads() -> Bool? {
            listener.options.last { $0.option is ChannelOptions.Types.AutoReadOption }?.value as? Bool
        }
        for code in [EMFILE, ENFILE] {
            listener.pipeline.fireErrorCaught(IOError(errnoCode: code, reason: "accept"))
            try listener.throwIfErrorCaught()
            #expect(reads() == false)
            listener.embeddedEventLoop.advanceTime(by: ConnectionGate.pause)
            #expect(reads() == true)
        }
        listener.pipeline.fireErrorCaught(IOError(errnoCode: ECONNABORTED, reason: "accept"))
        try listener.throwIfErrorCaught()
        #expect(reads() == true)
        listener.pipeline.fireErrorCaught(IOError(errnoCode: EBADF, reason: "accept"))
        #expect(throws: IOError.self) { try listener.throwIfErrorCaught() }
    }

    @Test func addressesAreCountedByTheirNetworks() {
        #expect(PeerConnections.peer(of: "192.0.2.7") == "192.0.2.7")
        #expect(PeerConnections.peer(of: "::ffff:192.0.2.7") == "192.0.2.7")
        #expect(PeerConnections.peer(of: "2001:db8:1:2:3:4:5:6") == "2001:db8:1:2::/64")
        #expect(PeerConnections.peer(of: "2001:db8:1:2::9") == "2001:db8:1:2::/64")
        #expect(PeerConnections.peer(of: "2001:db8::9") == "2001:db8:0:0::/64")
        #expect(PeerConnections.peer(of: "::1") == "0:0:0:0::/64")
    }

    @Test func connectionsLeaveDescriptorsForTheRest() {
        #expect(DescriptorLimit.connections(within: 1024, atMost: 20_000) == 824)
        #expect(DescriptorLimit.connections(within: 100_000, atMost: 20_000) == 20_000)
        #expect(DescriptorLimit.connections(within: 100, atMost: 20_000) == DescriptorLimit.minimumConnections)
        var configuration = GatewayConfiguration(host: "127.0.0.1", port: 0, database: "/nowhere")
        configuration.maximumConnections = 80
        #expect(configuration.connectionLimits.peerLimit == 20)
        configuration.url = "https://tracks.example.org"
        #expect(configuration.connectionLimits.peerLimit == nil, "the proxy's address brings everybody")
    }
}

extension EventLoopFuture {
    /// `true` once it has a result; for a future of an embedded loop.
    fileprivate var isFulfilled: Bool {
        let box = NIOLoopBoundBox(false, eventLoop: self.eventLoop)
        self.whenComplete { _ in box.value = true }
        (self.eventLoop as? EmbeddedEventLoop)?.run()
        return box.value
    }
}
