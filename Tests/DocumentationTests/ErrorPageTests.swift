// The page of errors lists what the code can throw: all of it, and nothing else.

import Foundation
import TestSupport
import Testing

@Suite(.tags(.pure)) struct ErrorPages {
  @Test func `every error of the connection layer has its cause and remedy on the page`() throws {
    let sources = packageRoot.appendingPathComponent("Sources/CipherSQLite")
    let code = try String(
      contentsOf: sources.appendingPathComponent("Errors/SQLError.swift"), encoding: .utf8)
    let page = try String(
      contentsOf: sources.appendingPathComponent("Documentation.docc/errors.md"), encoding: .utf8)
    let declared = Set(code.matches(of: #/(?m)^  case (\w+)/#).map { String($0.1) })
    let listed = page.matches(of: #/(?m)^\| `(\w+)` \| .+ \| .+ \|$/#).map { String($0.1) }
    #expect(declared.count > 30)
    #expect(Set(listed) == declared && listed.count == declared.count)
  }
}
