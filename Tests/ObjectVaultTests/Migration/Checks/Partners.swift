// Two entities and the one-to-one between them, for the tests of its steps.

import Foundation
import ObjectVault
import TestSupport
import Testing

enum Partners {
  static let teams = """
    create entity Team {
     attribute name string
    }
    create entity User {
     attribute name string
    }
    """
  static let pair = """
    add relationship Team.captain -> User inverse User.leads
    add relationship User.leads -> Team inverse Team.captain
    """
  static let rows = [
    "INSERT INTO Team(id, name) VALUES (1, 'a'), (2, 'b'), (3, 'c')",
    "INSERT INTO User(id, name) VALUES (1, 'x'), (2, 'y'), (4, 'z')",
  ]

  /// What a migration says that is to be refused, and leaves the file as it was.
  static func refusal(_ steps: [String], at version: Int = 1, fill: [String] = rows) async throws
    -> String
  {
    let lab = try await DowngradeLab(steps, at: version, fill: fill)
    let before = try Data(contentsOf: lab.url)
    do {
      _ = try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set)
      return "no error"
    } catch let error as StoreError {
      #expect(try Data(contentsOf: lab.url) == before)
      return "\(error)"
    }
  }
}
