"""Kinds of teaching task of a grid: what the teacher is told, who answers, and what is scored."""

from __future__ import annotations

from typing import NamedTuple


class Both(NamedTuple):
    """A text in both languages."""

    en: str
    zh: str


class Score(NamedTuple):
    """A score from 1 to 5, with what its ends mean."""

    name: str
    text: Both
    worst: Both
    best: Both


class Kind(NamedTuple):
    """A kind of task. `opening` is what the learner or teacher asks for; a kind with `talks` is a conversation."""

    name: str
    told: Both
    opening: Both
    score: Score
    talks: bool = False


PERSONAL = Score(
    "fits_the_learner",
    Both("Fits this learner's stage, words and needs.", "符合这名学习者的学段、语言和需要。"),
    Both("Would be the same for anybody.", "对谁都一样。"),
    Both("Made for this learner.", "为这名学习者量身而作。"),
)
RIGHT = Score(
    "subject_is_right",
    Both("What is said about the subject is right.", "学科内容正确。"),
    Both("Holds a serious mistake.", "有严重错误。"),
    Both("Nothing is wrong or misleading.", "没有错误，也不会误导。"),
)
CURIOUS = Score(
    "opens_thinking",
    Both("Opens ways of thinking beyond the expected answer.", "在标准答案之外打开思路。"),
    Both("One way only.", "只有一种思路。"),
    Both("The learner can explore.", "学习者可以继续探究。"),
)
KIND = Score(
    "respect",
    Both("Respectful, honest and encouraging.", "尊重、诚实、鼓励。"),
    Both("Belittles, or claims what is not so.", "贬低学习者，或言过其实。"),
    Both("Kind and exact.", "温和而准确。"),
)

KINDS = (
    Kind(
        "explain_concept",
        Both("You explain one idea to one learner.", "你向一名学习者讲解一个概念。"),
        Both("Please explain {topic} to me.", "请给我讲讲{topic}。"),
        Score(
            "can_be_followed",
            Both("Short steps, an example, and a check at the end.", "步骤小，有例子，最后有检查。"),
            Both("A list of terms.", "堆砌术语。"),
            Both("Each step follows from the one before it.", "每一步都承接上一步。"),
        ),
    ),
    Kind(
        "guided_problem_solving",
        Both(
            "You guide one learner by questions and never tell the answer. Close with <end> when it is found.",
            "你用提问引导一名学习者，不直接说出答案。学习者解决问题后用“<end>”结束。",
        ),
        Both("I am stuck with a problem on {topic}.", "我有一道关于{topic}的题不会做。"),
        Score(
            "leads_by_questions",
            Both("One question at a time; the learner takes each step.", "每次一问，由学习者走每一步。"),
            Both("Tells steps or results.", "直接讲步骤或结果。"),
            Both("The learner finds it out.", "学习者自己发现。"),
        ),
        talks=True,
    ),
    Kind(
        "question_generation",
        Both(
            "You write one exercise with a worked solution for a teacher.",
            "你为老师编写一道题，并给出详细解析。",
        ),
        Both("Write one exercise on {topic}.", "请出一道关于{topic}的题。"),
        Score(
            "exercise_works",
            Both(
                "Can be solved, has one answer, and the solution explains it.", "可解，答案唯一，解析清楚。"
            ),
            Both("Cannot be solved, or the solution is wrong.", "无法解答或解析错误。"),
            Both("Ready for class.", "可以直接用于课堂。"),
        ),
    ),
    Kind(
        "lesson_plan",
        Both(
            "You plan one lesson of 45 minutes with aims, steps and a check.",
            "你设计一节45分钟的课，写明目标、步骤和检查方式。",
        ),
        Both("Plan a lesson on {topic}.", "请设计一节关于{topic}的课。"),
        Score(
            "plan_holds_together",
            Both("Aims, steps, time and check belong together.", "目标、步骤、时间与检查相互一致。"),
            Both("Parts do not fit.", "各部分脱节。"),
            Both("Can be taught as it stands.", "可以照此上课。"),
        ),
    ),
    Kind(
        "error_diagnosis",
        Both(
            "A learner got something wrong. Find out by questions how the learner thinks, then help. "
            "Close with <end> when the learner sees the mistake.",
            "一名学习者出了错。先用提问弄清他怎么想，再帮助他。学习者看出错误后用“<end>”结束。",
        ),
        Both(
            "My answer on {topic} was marked wrong and I do not see why.",
            "我做{topic}的题错了，不知道错在哪里。",
        ),
        Score(
            "finds_the_cause",
            Both("Finds the thought behind the mistake before correcting.", "先找到错误背后的想法，再纠正。"),
            Both("Corrects without asking.", "不问就改。"),
            Both("The learner names the mistake.", "学习者自己说出错误。"),
        ),
        talks=True,
    ),
    Kind(
        "feedback_on_work",
        Both(
            "You give feedback on a learner's work: one strength, one next step.",
            "你对学习者的作业给出反馈：一个优点，一个改进步骤。",
        ),
        Both(
            "I wrote a page on {topic}. How do I make it better?", "我写了一页关于{topic}的内容，怎样改进？"
        ),
        Score(
            "next_step_can_be_taken",
            Both("Names one next step with a way to take it.", "指出一个可行的改进步骤和做法。"),
            Both("General advice.", "泛泛而谈。"),
            Both("The learner can start at once.", "学习者可以立刻动手。"),
        ),
    ),
    Kind(
        "study_plan",
        Both("You plan a week of study with one learner.", "你和一名学习者一起制定一周学习计划。"),
        Both("Help me to plan a week for {topic}.", "请帮我安排一周学习{topic}的计划。"),
        Score(
            "plan_can_be_kept",
            Both("Small, spaced steps with a check each.", "任务小、有间隔，每步可检查。"),
            Both("Too much, or unclear.", "任务过多或不清楚。"),
            Both("A busy learner can keep it.", "忙碌的学习者也能坚持。"),
        ),
    ),
    Kind(
        "project_across_subjects",
        Both(
            "You design a small project that joins this subject with another one.",
            "你设计一个把本学科与另一学科结合的小项目。",
        ),
        Both("Design a project around {topic}.", "请围绕{topic}设计一个项目。"),
        Score(
            "subjects_need_each_other",
            Both("The question of the project needs both subjects.", "项目的问题需要两个学科共同解决。"),
            Both("One subject is decoration.", "另一个学科只是点缀。"),
            Both("Neither can be left out.", "两者缺一不可。"),
        ),
    ),
    Kind(
        "support_and_motivation",
        Both(
            "A learner has lost heart. Listen first, then find one small step together. Close with <end>.",
            "一名学习者失去了信心。先倾听，再一起找一个小步骤。最后用“<end>”结束。",
        ),
        Both("I will never understand {topic}.", "我永远也学不会{topic}。"),
        Score(
            "a_step_is_found",
            Both("The learner leaves with a step of the learner's own.", "学习者带着自己选的一步离开。"),
            Both("Slogans.", "只有口号。"),
            Both("The learner names the step.", "学习者自己说出这一步。"),
        ),
        talks=True,
    ),
    Kind(
        "reading_guide",
        Both("You write a guide of five questions for a text or source.", "你为一篇材料编写五个阅读问题。"),
        Both("Write a reading guide for a text on {topic}.", "请为一篇关于{topic}的材料写阅读指引。"),
        Score(
            "questions_build_up",
            Both("Questions lead from finding to judging.", "问题由查找逐步走向判断。"),
            Both("All ask for facts.", "全是找事实。"),
            Both("Each needs the one before it.", "一环扣一环。"),
        ),
    ),
)
