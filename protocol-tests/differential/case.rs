//! A case: what is asked at each version, on a broker that knows nothing of it before.
//!
//! Its function sets up what it needs (`topic`, `group`, the fixtures of the other tests) and asks; every answer it `ask`s
//! for is noted down. It is run once for each version, from the beginning, at the same time as all others.

use std::any::type_name;
use std::fmt::Debug;
use std::ops::RangeInclusive;

use bytes::Bytes;
use kafka_protocol::messages::ApiVersionsRequest;
use kafka_protocol::protocol::Request;

use super::answer::Value;
use super::names::Names;
use crate::broker;
use crate::client::{self, Client};
use crate::fixtures::{self, Topic};
use crate::members::Member;

#[derive(Clone)]
pub struct Case {
    pub name: &'static str,
    pub versions: RangeInclusive<i16>,
    pub run: fn(&mut Run),
}

/// A case of these versions.
pub const fn case(name: &'static str, versions: RangeInclusive<i16>, run: fn(&mut Run)) -> Case {
    Case { name, versions, run }
}

/// A request whose answer can be shown: all of them.
pub trait Api: Request<Response: Debug + 'static> {}

impl<R: Request<Response: Debug + 'static>> Api for R {}

/// One run of a case.
pub struct Run {
    /// What `ask` asks at.
    pub version: i16,
    client: Client,
    names: Names,
    text: String,
    only_ours: Option<&'static str>,
    sorted: &'static [&'static str],
    hidden: &'static [&'static str],
    counted: &'static [&'static str],
}

impl Run {
    /// What was noted down.
    pub fn of(case: &Case, version: i16) -> String {
        let mut run = Run {
            version,
            client: Client::connect(),
            names: Names::default(),
            text: String::new(),
            only_ours: None,
            sorted: &[],
            hidden: &[],
            counted: &[],
        };
        (case.run)(&mut run);
        run.text
    }

    /// A name that no other run uses, shown as `{kind-1}`.
    pub fn name(&mut self, kind: &str) -> String {
        let name = fixtures::unique("differential");
        self.names.learn(kind, &name);
        name
    }

    /// A topic that is ready; its name is shown as `{topic-1}`, its id as `{topic-1.id}`.
    pub fn topic(&mut self, partitions: i32) -> Topic {
        self.topic_with(partitions, &[])
    }

    pub fn topic_with(&mut self, partitions: i32, configs: &[(&'static str, &str)]) -> Topic {
        let name = self.name("topic");
        self.topic_named(&name, partitions, configs)
    }

    /// A topic under a name of this run.
    pub fn topic_named(
        &mut self,
        name: &str,
        partitions: i32,
        configs: &[(&'static str, &str)],
    ) -> Topic {
        let topic = fixtures::create_named(name, partitions, configs);
        self.topic_id(&topic);
        topic
    }

    fn topic_id(&mut self, topic: &Topic) {
        let shown = self.names.learn("topic", &topic.name);
        self.names.show(&topic.id.to_string(), &format!("{}.id}}", shown.trim_end_matches('}')));
    }

    /// Waits until the broker has seen all changes of metadata so far: Kafka's controller answers before its broker sees them,
    /// in order, so a new topic comes last.
    pub fn settle(&self) {
        if broker::is_foreign() {
            fixtures::topic("differential", 1);
        }
    }

    /// Shows `actual` as `{kind-n}`.
    pub fn learn(&mut self, kind: &str, actual: &str) {
        self.names.learn(kind, actual);
    }

    /// A group whose coordinator serves it, shown as `{group-1}`.
    pub fn group(&mut self) -> String {
        let name = fixtures::group("differential");
        self.names.learn("group", &name);
        name
    }

    /// The only member of a stable group.
    pub fn member(&mut self, group: &str) -> Member {
        self.known(Member::alone(group, b"mine"))
    }

    /// This member, its id shown as `{member-1}`.
    pub fn known(&mut self, member: Member) -> Member {
        self.names.learn("member", &member.id);
        member
    }

    /// A line of explanation in front of the next answer.
    pub fn note(&mut self, line: &str) -> &mut Run {
        self.text += &format!("# {line}\n");
        self
    }

    /// Of the list in this field of the next answer only what names something of this run: all others share the broker.
    pub fn only_ours(&mut self, field: &'static str) -> &mut Run {
        self.only_ours = Some(field);
        self
    }

    /// The lists in these fields of the next answer have no order that means something (Kafka's is a hash's).
    pub fn sorted(&mut self, fields: &'static [&'static str]) -> &mut Run {
        self.sorted = fields;
        self
    }

    /// Numbers in these fields of the next answer depend on what the broker did before; -1 is shown all the same.
    pub fn hidden(&mut self, fields: &'static [&'static str]) -> &mut Run {
        self.hidden = fields;
        self
    }

    /// Of the lists in these fields of the next answer only how long they are.
    pub fn counted(&mut self, fields: &'static [&'static str]) -> &mut Run {
        self.counted = fields;
        self
    }

    /// Asks at this run's version.
    #[track_caller]
    pub fn ask<R: Api>(&mut self, request: &R) -> R::Response {
        self.ask_at(self.version, request)
    }

    #[track_caller]
    pub fn ask_at<R: Api>(&mut self, version: i16, request: &R) -> R::Response {
        let answer = self.try_bytes::<R>(version, &client::frame(version, 1, request));
        answer.unwrap_or_else(|| panic!("no answer to {} v{version}", api::<R>()))
    }

    /// Asks for what may not be answered.
    pub fn try_ask<R: Api>(&mut self, request: &R) -> Option<R::Response> {
        self.try_bytes::<R>(self.version, &client::frame(self.version, 1, request))
    }

    /// Sends a whole frame, size and all, that has correlation id 1; what comes back is read as an answer to `R`.
    /// ApiVersions is asked right behind, so that silence is seen without waiting.
    #[track_caller]
    pub fn try_bytes<R: Api>(&mut self, version: i16, frame: &[u8]) -> Option<R::Response> {
        const BEHIND: i32 = 2;
        let behind = client::frame(0, BEHIND, &ApiVersionsRequest::default());
        self.client.send_bytes(&[frame, &behind].concat());
        let mut answer = self.client.read_frame();
        let silent = answer.as_ref().is_some_and(|it| it.starts_with(&BEHIND.to_be_bytes()));
        if silent {
            self.head::<R>(version);
            self.text += "  no answer\n";
            return None;
        }
        let response = answer.take().map(|frame| client::decode::<R>(version, 1, frame));
        match &response {
            Some(response) => self.show_at::<R>(version, response),
            None => self.head::<R>(version),
        }
        if response.is_none() || self.client.read_frame().is_none() {
            self.text += "  closed\n";
            self.client = Client::connect();
        }
        response
    }

    /// Notes an answer down that came on another connection, at this run's version.
    pub fn show<R: Api>(&mut self, response: &R::Response) {
        self.show_at::<R>(self.version, response);
    }

    pub fn show_at<R: Api>(&mut self, version: i16, response: &R::Response) {
        self.head::<R>(version);
        let mut value = Value::of(response);
        if let Some(field) = self.only_ours.take() {
            value.lists(field, &mut |list| list.retain(|it| self.names.are_in(it)));
        }
        for field in std::mem::take(&mut self.sorted) {
            let key = |value: &Value| {
                let (mut value, mut text) = (value.clone(), String::new());
                self.names.clone().normalise(&mut value);
                value.print(0, &mut text);
                text
            };
            value.lists(field, &mut |list| list.sort_by_cached_key(key));
        }
        for field in std::mem::take(&mut self.counted) {
            value.lists(field, &mut |list| {
                if !list.is_empty() {
                    *list = vec![Value::Plain(format!("{} of them", list.len()))];
                }
            });
        }
        self.names.hide(std::mem::take(&mut self.hidden));
        self.names.normalise(&mut value);
        value.print(1, &mut self.text);
    }

    fn head<R: Api>(&mut self, version: i16) {
        self.text += &api::<R>();
        if version != self.version {
            self.text += &format!(" v{version}");
        }
        self.text += "\n";
    }

    /// Bytes that belong to no request Kafka knows.
    pub fn send_garbage(&mut self, what: &str, bytes: &[u8]) {
        self.client.send_bytes(bytes);
        self.client.shutdown_write();
        let answer: Option<Bytes> = self.client.read_frame();
        let seen = answer.map_or("closed".to_owned(), |it| format!("b\"{}\"", it.escape_ascii()));
        self.text += &format!("{what}\n  {seen}\n");
        self.client = Client::connect();
    }
}

/// `Metadata` of `MetadataRequest`.
fn api<R>() -> String {
    let path = type_name::<R>();
    let name = path.rsplit("::").next().expect("a path has an end");
    name.trim_end_matches("Request").to_owned()
}
