// Entities that are split or take over attributes, links that become objects and back: values, ids and
// refusals.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct CompositeOperations {
  static let base = """
    create entity User {
        attribute name string
        attribute street string default "?"
        attribute city string optional indexed
        attribute height double optional
        attribute mail string optional unique
    }
    """
  static let fill = [
    "INSERT INTO User(id, name, street, city, height, mail) VALUES (1, 'Ann', 'A 1', 'Bonn', 0.1, 'a'), "
      + "(5, 'Bob', 'B 2', NULL, NULL, NULL), (7, 'Cy', 'C 3', 'Rom', 1e308, 'c')"
  ]
  static let split = """
    create entity Address {
        relationship user -> User inverse User.address
    }
    add relationship User.address -> Address inverse Address.user on delete cascade
    move attribute User.street, User.city, User.height, User.mail -> Address.street, Address.town, Address.height, Address.mail by User.address
    """

  private func lab(_ base: String, _ steps: String..., fill: [String]) async throws -> DowngradeLab {
    try await DowngradeLab([base] + steps, fill: fill)
  }

  private func refusal(_ step: String, after base: String, fill: [String]) async throws -> String {
    let lab = try await DowngradeLab([base, step], fill: fill)
    let before = try lab.image
    do { try await lab.up() } catch StoreError.rowsRefused(2, "s2", let operation, let reason) {
      #expect(try lab.image == before)
      #expect(step.hasSuffix(operation))
      return reason
    }
    return "nothing was refused"
  }

  // MARK: Attributes

  @Test func `a split moves every value to the object that its owner references`() async throws {
    let lab = try await lab(
      Self.base, Self.split, fill: Self.fill + ["INSERT OR REPLACE INTO vault_ids VALUES ('Address', 40)"])
    let before = try lab.image
    #expect(try lab.set.losses(ofStep: 2).isEmpty)
    try await lab.up()
    #expect(
      try lab.rows("SELECT id, user_id, street, town, height, mail FROM Address ORDER BY id") == [
        [41, 1, "A 1", "Bonn", 0.1, "a"], [45, 5, "B 2", .null, .null, .null],
        [47, 7, "C 3", "Rom", 1e308, "c"],
      ])
    #expect(
      try lab.rows("SELECT id, name FROM User") == [[1, "Ann"], [5, "Bob"], [7, "Cy"]])
    let address = try #require(lab.set.model(at: 2).entity(named: "Address"))
    #expect(address.attribute(named: "street")?.defaultValue == .text("?"))
    #expect(address.attribute(named: "street")?.isOptional == false)
    #expect(
      address.attribute(named: "town")?.isIndexed == true
        && address.attribute(named: "mail")?.isUnique == true)
    let new = try await DowngradeLab([Self.base, Self.split], at: 2)
    #expect(try new.image.physicalHash == lab.image.physicalHash)
    #expect(try await lab.down(1).takenBack == [2])
    #expect(try lab.image == before)
    try await lab.up()
    // Ids are issued once.
    #expect(try lab.rows("SELECT min(id) FROM Address") == [[48]])
    #expect(try lab.rows("SELECT count(*) FROM sqlite_master WHERE name LIKE '\\_mig%' ESCAPE '\\'") == [[0]])
  }

  static let pair = """
    create entity User {
        attribute name string optional
        attribute city string optional
        relationship home -> Home inverse Home.users
    }
    create entity Home {
        attribute number int default 0
        relationship users -> User many inverse User.home
    }
    """
  static let outward = "move attribute User.city -> Home.city by User.home"
  static let inward = "move attribute Home.number -> User.number by User.home"

  @Test func `a move writes to referenced objects, and makes new ones for other sources with values`()
    async throws
  {
    let lab = try await lab(
      Self.pair, Self.outward,
      fill: [
        "INSERT INTO Home(id, number) VALUES (3, 30), (4, 40)",
        "INSERT INTO User(id, city, home_id) VALUES (1, 'Bonn', 3), (2, 'Bonn', 3), (5, 'Rom', NULL), (6, NULL, NULL)",
      ])
    try await lab.up()
    #expect(
      try lab.rows("SELECT id, number, city FROM Home ORDER BY id") == [
        [3, 30, "Bonn"], [4, 40, .null], [9, 0, "Rom"],
      ])
    #expect(
      try lab.rows("SELECT id, home_id FROM User ORDER BY id") == [[1, 3], [2, 3], [5, 9], [6, .null]])
    #expect(try lab.image.rows.count == 7)
    // The homes that the step made would stay.
    guard case .none = try lab.set.steps[1].rollback(from: lab.set.model(at: 1)) else {
      Issue.record("it has a rollback")
      return
    }
  }

  @Test func `an entity takes over an attribute of the entity that it references`() async throws {
    let lab = try await lab(
      Self.pair, Self.inward,
      fill: [
        "INSERT INTO Home(id, number) VALUES (3, 30)",
        "INSERT INTO User(id, home_id) VALUES (1, 3), (2, 3), (5, NULL)",
      ])
    try await lab.up()
    #expect(try lab.rows("SELECT number FROM User ORDER BY id") == [[30], [30], [0]])
    #expect(try lab.set.losses(ofStep: 2).isEmpty)
    // With an optional attribute the move has a rollback.
    let optional = "make Home.number optional\nset default of Home.number to none"
    let back = try DowngradeLab.set([Self.pair, optional, Self.inward])
    guard case .operations(let operations) = try back.steps[2].rollback(from: back.model(at: 2)) else {
      Issue.record("no rollback")
      return
    }
    #expect(operations.map(\.description) == ["move attribute User.number -> Home.number by User.home"])
  }

  @Test(arguments: [false, true])
  func `a move without a value for a required attribute is refused, and the advised lines help`(
    _ isInward: Bool
  ) async throws {
    // Inward: Bob has no address. Outward: no user references the address.
    let base =
      isInward
      ? """
      create entity User {
          attribute name string
      }
      create entity Address {
          attribute street string
          relationship user -> User inverse User.address
      }
      add relationship User.address -> Address inverse Address.user
      """
      : """
      create entity User {
          attribute street string
      }
      create entity Address {
          attribute code int default 0
          relationship user -> User inverse User.address
      }
      add relationship User.address -> Address inverse Address.user
      """
    let fill =
      isInward
      ? [
        "INSERT INTO User(id, name) VALUES (1, 'Ann'), (2, 'Bob')",
        "INSERT INTO Address(id, street, user_id) VALUES (5, 'A 1', 1)",
      ]
      : ["INSERT INTO User(id, street) VALUES (1, 'A 1')", "INSERT INTO Address(id) VALUES (5)"]
    let (source, destination) = isInward ? ("Address", "User") : ("User", "Address")
    let move = "move attribute \(source).street -> \(destination).street by User.address"
    let lines = ["make \(source).street optional", "make \(destination).street required filling VALUE"]
    let reason = try await refusal(move, after: base, fill: fill)
    #expect(
      reason.hasPrefix(
        "1 object of \(destination) would have no street, because no \(source) has a value for them; write ")
        && lines.allSatisfy(reason.contains), "\(reason)")
    let lab = try await lab(
      base, lines[0], move, lines[1].replacingOccurrences(of: "VALUE", with: "\"?\""), fill: fill)
    try await lab.up()
    #expect(try lab.rows("SELECT street FROM \(SQLName(destination)) ORDER BY street") == [["?"], ["A 1"]])
  }

  @Test func `rows that do not fit a move are refused with their count and ids`() async throws {
    let shared = [
      "INSERT INTO Home(id) VALUES (3)",
      "INSERT INTO User(id, city, home_id) VALUES (1, 'Bonn', 3), (2, 'bonn', 3)",
    ]
    let different = try await refusal(Self.outward, after: Self.pair, fill: shared)
    #expect(
      different.contains("1 object of Home is referenced by several User with different values")
        && different.contains("(row 3)"))
    let missing = try await refusal(
      Self.outward, after: Self.pair + "\nset default of Home.number to none",
      fill: ["INSERT INTO User(id, city) VALUES (8, 'Bonn')"])
    #expect(
      missing.contains("1 object of User has no home, and none can be created")
        && missing.contains("Home.number") && missing.contains("(row 8)"))
    let lost = try await refusal(Self.inward, after: Self.pair, fill: ["INSERT INTO Home(id) VALUES (3)"])
    #expect(
      lost.contains("1 object of Home has values, but no User refers to them") && lost.contains("(row 3)"))
    let unfilled = try await refusal(
      Self.inward, after: Self.pair + "\nset default of Home.number to none",
      fill: [
        "INSERT INTO Home(id, number) VALUES (3, 1)",
        "INSERT INTO User(id, home_id) VALUES (1, 3), (2, NULL)",
      ])
    #expect(unfilled.contains("1 object of User would have no number") && unfilled.contains("(row 2)"))
  }

  // MARK: Links

  static let groups = """
    create entity User {
        attribute name string optional
        relationship groups -> Group many inverse Group.members on delete deny
        relationship follows -> User many inverse User.followers
        relationship followers -> User many inverse User.follows
    }
    create entity Group {
        attribute name string optional
        relationship members -> User many inverse User.groups
    }
    """
  static let links = [
    "INSERT INTO User(id) VALUES (1), (2), (3)", "INSERT INTO \"Group\"(id) VALUES (7), (8)",
    "INSERT INTO Group_members(User_id, Group_id) VALUES (1, 7), (1, 8), (3, 7)",
    "INSERT INTO User_followers(followers_id, follows_id) VALUES (1, 2), (2, 1), (3, 1)",
  ]

  static let toObjects: [(step: String, query: String, rows: [[SQLValue]])] = [
    (
      "make relationship User.groups an entity Membership (user, club) inverse User.memberships, Group.memberships",
      "SELECT id, user_id, club_id FROM Membership ORDER BY id",
      [[6, 1, 7], [7, 1, 8], [8, 3, 7]]
    ),
    (
      "make relationship User.groups an entity Membership (user, club)",
      "SELECT id, user_id, club_id FROM Membership ORDER BY id", [[6, 1, 7], [7, 1, 8], [8, 3, 7]]
    ),
    (
      "make relationship User.follows an entity Follow (who, whom) inverse User.following, User.followed",
      "SELECT id, who_id, whom_id FROM Follow ORDER BY id", [[1, 1, 2], [2, 2, 1], [3, 3, 1]]
    ),
  ]

  @Test(arguments: toObjects.indices)
  func `links become objects, and become links again in a rollback`(_ index: Int) async throws {
    let (step, query, rows) = Self.toObjects[index]
    let lab = try await lab(
      Self.groups, step, fill: Self.links + ["INSERT OR REPLACE INTO vault_ids VALUES ('Membership', 5)"])
    let before = try lab.image
    #expect(try lab.set.losses(ofStep: 2).isEmpty)
    // In the join table of an entity with itself, a column has the members of the relationship in its name.
    let follows = try lab.rows("SELECT followers_id, follows_id FROM User_followers ORDER BY 1, 2")
    #expect(follows == [[1, 2], [2, 1], [3, 1]])
    try await lab.up()
    #expect(try lab.rows(query) == rows)
    let new = try await DowngradeLab([Self.groups, step], at: 2)
    #expect(try new.image.physicalHash == lab.image.physicalHash)
    #expect(try await lab.down(1).takenBack == [2])
    #expect(try lab.image == before)
  }

  static let membership = """
    create entity User {
        relationship memberships -> Membership many inverse Membership.user on delete cascade
    }
    create entity Group {
        relationship memberships -> Membership many inverse Membership.club on delete cascade
    }
    create entity Membership {
        attribute since int default 0
        relationship user -> User inverse User.memberships
        relationship club -> Group inverse Group.memberships
    }
    """
  static let join = "make entity Membership a relationship User.groups -> Group inverse Group.members"

  @Test func `objects between two entities become links, and their other values are listed as losses`()
    async throws
  {
    let lab = try await lab(
      Self.membership, Self.join,
      fill: [
        "INSERT INTO User(id) VALUES (1), (2)", "INSERT INTO \"Group\"(id) VALUES (7)",
        "INSERT INTO Membership(id, user_id, club_id) VALUES (4, 1, 7), (9, 2, 7)",
      ])
    #expect(try lab.set.losses(ofStep: 2) == ["Membership.since"])
    await #expect(throws: StoreError.lossNotAllowed(step: 2, name: "s2", losses: ["Membership.since"])) {
      try await lab.up()
    }
    try await lab.up(allowing: ["Membership.since"])
    #expect(try lab.rows("SELECT User_id, Group_id FROM Group_members ORDER BY 1") == [[1, 7], [2, 7]])
    #expect(try lab.set.model(at: 2).entities.map(\.name).sorted() == ["Group", "User"])
    #expect(try lab.image.rows.count == 5)
    let plain = "drop attribute Membership.since"
    let set = try DowngradeLab.set([Self.membership, plain, Self.join])
    #expect(try set.losses(ofStep: 3).isEmpty)
    guard case .none(let reason) = try set.steps[2].rollback(from: set.model(at: 2)) else {
      Issue.record("it has a rollback")
      return
    }
    #expect(reason.hasSuffix("the ids of the objects of Membership are lost"))
  }

  @Test func `an object without both ends and a second object for a pair cannot become links`() async throws {
    let rows = ["INSERT INTO User(id) VALUES (1)", "INSERT INTO \"Group\"(id) VALUES (7)"]
    let base = Self.membership.replacingOccurrences(of: "    attribute since int default 0\n", with: "")
    let lone = try await refusal(
      Self.join, after: base,
      fill: rows + ["INSERT INTO Membership(id, user_id, club_id) VALUES (4, 1, NULL), (5, 1, 7)"])
    #expect(lone.contains("1 object of Membership lacks one end of the link") && lone.contains("(row 4)"))
    let twice = try await refusal(
      Self.join, after: base,
      fill: rows + ["INSERT INTO Membership(id, user_id, club_id) VALUES (4, 1, 7), (5, 1, 7)"])
    #expect(twice.contains("1 pair is linked by several Membership") && twice.contains("(row 5)"))
  }

  // MARK: Models and texts

  @Test(arguments: [
    (pair, "move attribute User.cty -> Home.city by User.home", "did you mean \"city\"?"),
    (pair, "move attribute User.city -> Home.number by User.home", "Home.number already exists"),
    (pair, "move attribute User.city -> Home.city by Home.users", "is not a to-one between User and Home"),
    (
      pair, "move attribute User.city -> Hom.city by User.home",
      "there is no entity Hom; did you mean \"Home\"?"
    ),
    (groups, "make relationship User.follower an entity F (a, b)", "did you mean \"followers\""),
    (pair, "make relationship Home.users an entity F (a, b)", "is not many-to-many"),
    (groups, "make relationship User.groups an entity Group (a, b)", "Group already exists"),
    (
      groups, "make relationship User.groups an entity F (a, b) inverse User.f, User.g",
      "refers to Group, not to User"
    ),
    (
      membership, "make entity Membership a relationship User.groups -> User",
      "is not a link between User and User"
    ),
    (
      membership, "make entity User a relationship Membership.x -> Group",
      "it needs exactly one to-one to each"
    ),
    (membership, "add relationship Group.best -> Membership\n\(join)", "Group.best still refers to it"),
  ])
  func `a composite operation that does not fit the model is refused under its own name`(
    _ base: String, _ step: String, _ reason: String
  ) throws {
    let set = try DowngradeLab.set([base, step])
    for body in [{ _ = try set.model(at: 2) }, { _ = try set.losses(ofStep: 2) }] {
      #expect {
        try body()
      } throws: { error in
        guard case StoreError.migrationFailed(2, _, let operation, let found) = error else { return false }
        return step.hasSuffix(operation) && found.contains(reason)
      }
    }
  }

  @Test func `a plan lists what only the run can check under the composite operation's own name`()
    async throws
  {
    let lab = try await lab(Self.groups, Self.toObjects[0].step, fill: Self.links)
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set)
    #expect(
      plan.steps[0].unasked.contains {
        $0.hasPrefix("make relationship") && $0.hasSuffix("only known when the step runs")
      })
    #expect(plan.steps[0].sql.contains { $0.contains("INSERT INTO \"Membership\"") })
    #expect(plan.steps[0].irreversible == nil)
  }

  @Test func `composite operations are printed as they were written, and wrong forms are errors`() throws {
    for line in [
      "move attribute User.a, User.b -> Home.a, Home.c by User.home",
      "make entity M a relationship User.groups -> Group inverse Group.members from user",
      "make entity M a relationship User.groups -> Group",
      "make relationship User.groups an entity M (user, club) inverse User.ms, Group.ms",
      "make relationship User.groups an entity M (user, club)",
    ] {
      let step = try MigrationStep(number: 1, name: "s", text: "format: 1\n[up]\n\(line)  # why\n")
      #expect(step.canonicalText == line)
      #expect(try MigrationStep(number: 1, name: "s", text: step.text) == step)
    }
    for (line, reason) in [
      ("move attribute User.a, Home.b -> Home.a by User.home", "different entities: User and Home"),
      ("move attribute User.a, User.b -> Home.a by User.home", "attributes: 2, names: 1"),
      ("move attribute User.a -> Home.a", "by is missing"), ("move User.a -> Home.a", "attribute is missing"),
      ("make entity M a relationship User.groups", "-> is missing"),
      ("make relationship User.groups an entity M (a)", "a link has two ends"),
      ("make relationship User.groups an entity M (a, b) inverse Group.x, User.y", "property of User"),
    ] {
      #expect {
        _ = try MigrationStep(number: 1, name: "s", text: "format: 1\n[up]\n\(line)\n")
      } throws: { "\($0)".contains(reason) }
    }
  }
}
